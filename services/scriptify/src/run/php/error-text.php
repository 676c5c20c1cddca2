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
        $message = preg_replace('/\s*\n\s*/', ' ', trim($error->getMessage()));
        $file = str_replace(getcwd() . '/', '', $error->getFile());
        return get_debug_type($error) . ": {$message} ({$file}:{$error->getLine()})";
    }
}
