<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** Ends the process with one line on stderr and an exit code, whatever ends it. */
final class ExitWatcher
{
    private const FATAL = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
    private const OUTPUT_CLOSED = 141; // 128 + SIGPIPE, which php ignores

    /** The step in which an exit() of the project is a failure; null permits it. */
    private static ?string $step = null;

    /** The event that a forbidden exit came before, such as `the method was called`. */
    private static string $goal;

    public static function watch(string $goal): void
    {
        self::$goal = $goal;
        register_shutdown_function(self::atShutdown(...));
    }

    /** Makes each later exit() of the project a failure of this step. */
    public static function forbidExit(string $step): void
    {
        self::$step = $step;
    }

    public static function permitExit(): void
    {
        self::$step = null;
    }

    public static function exit(int $code, ?string $line = null): never
    {
        self::$step = null;
        if ($line !== null) {
            fwrite(STDERR, ErrorText::printable($line) . "\n");
        }
        exit($code);
    }

    private static function atShutdown(): void
    {
        if (connection_aborted() === 1) {
            self::atClosedOutput();
            return;
        }
        $isFatal = ((error_get_last()['type'] ?? 0) & self::FATAL) !== 0;
        if (!$isFatal && self::$step === null) {
            return;
        }
        if (!$isFatal) {
            fwrite(STDERR, ErrorText::printable(self::$step) . ' ended the process before ' . self::$goal . "\n");
        }
        // After a fatal error php has printed the message, and only its exit code 255 is replaced. Registered last,
        // because an exit() here would skip the project's own shutdown functions.
        register_shutdown_function(static fn () => exit(CliError::FAILED));
    }

    /** php ends without a message, and with 255, when its output cannot be written. */
    private static function atClosedOutput(): void
    {
        $isPipe = in_array((fstat(STDOUT)['mode'] ?? 0) & 0o170000, [0o010000, 0o140000], true);
        if (!$isPipe) {
            fwrite(STDERR, "Standard output cannot be written\n");
        }
        register_shutdown_function(static fn () => exit($isPipe ? self::OUTPUT_CLOSED : CliError::FAILED));
    }
}
