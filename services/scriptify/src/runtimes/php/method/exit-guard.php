<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Method;

/** How the program ends: with one line on stderr and an exit code, whoever ends it. */
final class Ending
{
    private const FATAL = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;

    /** What is going on that must not be ended by an exit() of the project; null when it may. */
    private static ?string $underway = null;

    public static function watch(): void
    {
        register_shutdown_function(self::atShutdown(...));
    }

    /** From here on an exit() is a failure, with these words. */
    public static function during(?string $underway): void
    {
        self::$underway = $underway;
    }

    public static function with(int $code, ?string $line = null): never
    {
        self::$underway = null;
        if ($line !== null) {
            fwrite(STDERR, $line . "\n");
        }
        exit($code);
    }

    /** In one line `RuntimeException: message (src/Job.php:12)`; with SCRIPTIFY_DEBUG all that php knows. */
    public static function describe(\Throwable $error): string
    {
        if ($error instanceof Refusal) {
            return $error->getMessage();
        }
        if (getenv('SCRIPTIFY_DEBUG')) {
            return (string) $error;
        }
        // Where the launcher called it is nobody's concern.
        $message = preg_replace('/, called in \S+task\.php on line \d+$/', '', $error->getMessage());
        $message = preg_replace('/\s*\n\s*/', ' ', trim((string) $message));
        $file = str_replace(getcwd() . '/', '', $error->getFile());
        return get_debug_type($error) . ": {$message} ({$file}:{$error->getLine()})";
    }

    private static function atShutdown(): void
    {
        if (connection_aborted() === 1) {
            self::atUnwritten();
            return;
        }
        $isFatal = ((error_get_last()['type'] ?? 0) & self::FATAL) !== 0;
        if (!$isFatal && self::$underway === null) {
            return;
        }
        if (!$isFatal) {
            fwrite(STDERR, self::$underway . " ended the process before the method was called\n");
        }
        // After a fatal error php has said what it was; only its 255 is none of our codes. Last of all, because an
        // exit() here would keep the project's own shutdown functions from running.
        register_shutdown_function(static fn () => exit(Refusal::FAILED));
    }

    /** php ends what nobody can read any more, without a word and with the same 255. */
    private static function atUnwritten(): void
    {
        $isPipe = in_array((fstat(STDOUT)['mode'] ?? 0) & 0o170000, [0o010000, 0o140000], true);
        if (!$isPipe) {
            fwrite(STDERR, "Standard output cannot be written\n");
        }
        // To a pipe: 128 + SIGPIPE, which php ignores.
        register_shutdown_function(static fn () => exit($isPipe ? 141 : Refusal::FAILED));
    }
}
