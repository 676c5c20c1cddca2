<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** An error in words. */
final class ErrorText
{
    /** Gives one line, `RuntimeException: message (src/Job.php:12)`; with SCRIPTIFY_DEBUG all that php knows. */
    public static function describe(\Throwable $error): string
    {
        if ($error instanceof CliError) {
            return $error->getMessage();
        }
        if (getenv('SCRIPTIFY_DEBUG')) {
            return (string) $error;
        }
        // php names the caller of a function that gets a wrong argument: here that is scriptify, not the project.
        $message = preg_replace('/, called in \S+task\.php on line \d+$/', '', $error->getMessage());
        $message = preg_replace('/\s*\n\s*/', ' ', trim((string) $message));
        $file = str_replace(getcwd() . '/', '', $error->getFile());
        return get_debug_type($error) . ": {$message} ({$file}:{$error->getLine()})";
    }
}
