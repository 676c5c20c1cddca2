<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** A failure that the user can act on; its code is the exit code. */
final class CliError extends \Exception
{
    public const FAILED = 1;
    public const USAGE = 2;
    public const NOT_FOUND = 3;
    public const NOT_PERMITTED = 4;
}

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
