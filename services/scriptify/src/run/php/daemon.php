<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** Repeated calls, which SIGTERM and SIGINT end. */
final class Daemon
{
    /** Short, because a signal that arrives just before a sleep does not shorten it. */
    private const MAX_SLEEP_SECONDS = 0.1;

    private static bool $isEnding = false;

    /** Calls repeatedly. The first signal lets the call in progress finish; the second has its default effect. */
    public static function repeat(callable $call, float $seconds): void
    {
        self::watchSignals();
        while (!self::$isEnding) {
            $call();
            self::pause($seconds);
        }
    }

    private static function watchSignals(): void
    {
        if (!function_exists('pcntl_signal')) {
            fwrite(STDERR, 'php has no pcntl extension: SIGTERM ends the daemon in the middle of a call; '
                . "Debian's php-cli has it, and docker-php-ext-install pcntl adds it to a php image\n");
            return;
        }
        pcntl_async_signals(true);
        foreach ([SIGTERM, SIGINT] as $signal) {
            pcntl_signal($signal, self::end(...));
        }
    }

    private static function pause(float $seconds): void
    {
        $end = microtime(true) + $seconds;
        while (!self::$isEnding && ($left = $end - microtime(true)) > 0) {
            usleep((int) (min($left, self::MAX_SLEEP_SECONDS) * 1_000_000));
        }
    }

    private static function end(): void
    {
        self::$isEnding = true;
        pcntl_signal(SIGTERM, SIG_DFL);
        pcntl_signal(SIGINT, SIG_DFL);
    }
}
