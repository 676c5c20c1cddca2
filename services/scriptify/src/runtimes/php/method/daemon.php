<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Method;

/** The time between the calls of a daemon, which SIGTERM and SIGINT end. */
final class Pauses
{
    private static bool $isEnding = false;

    /** The first signal lets the call in hand finish; the second one has its usual effect, at once. */
    public static function watchSignals(): void
    {
        if (!function_exists('pcntl_signal')) {
            fwrite(STDERR, "php has no pcntl extension: SIGTERM ends the daemon in the middle of a call\n");
            return;
        }
        pcntl_async_signals(true);
        foreach ([SIGTERM, SIGINT] as $signal) {
            pcntl_signal($signal, self::end(...));
        }
    }

    public static function isEnding(): bool
    {
        return self::$isEnding;
    }

    public static function take(float $seconds): void
    {
        $end = microtime(true) + $seconds;
        while (!self::$isEnding && ($left = $end - microtime(true)) > 0) {
            // A signal that comes just before the sleep would otherwise wait for its end.
            usleep((int) (min($left, 0.1) * 1_000_000));
        }
    }

    private static function end(): void
    {
        self::$isEnding = true;
        pcntl_signal(SIGTERM, SIG_DFL);
        pcntl_signal(SIGINT, SIG_DFL);
    }
}
