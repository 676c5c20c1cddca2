<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** A sleeping copy of the worker, which wakes when the worker dies. */
final class Backup
{
    /** A background process of the user may keep the pair open, so the pids are checked as well. */
    private const CHECK_MICROSECONDS = 200_000;

    /** @param resource $pair */
    private function __construct(
        public readonly int $pid,
        private $pair,
        public readonly bool $isCopy,
        public readonly string $reason = '',
    ) {
    }

    public static function isPossible(): bool
    {
        return function_exists('pcntl_fork') && function_exists('posix_kill');
    }

    /**
     * Returns at once in the worker; in the copy, when the worker has died. The end of the terminal ends both: a worker
     * that has replaced another one is not the terminal's child, and may never look at its socket again.
     */
    public static function fork(int $terminal): ?self
    {
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
        if ($pair === false) {
            return null;
        }
        $worker = (int) getmypid();
        pcntl_sigprocmask(SIG_BLOCK, [SIGINT], $before);
        $pid = @pcntl_fork();
        if ($pid !== 0) {
            pcntl_sigprocmask(SIG_SETMASK, $before);
            fclose($pair[1]);
            return $pid > 0 ? new self($pid, $pair[0], false) : null;
        }
        pcntl_signal(SIGINT, SIG_IGN);
        pcntl_sigprocmask(SIG_SETMASK, $before);
        fclose($pair[0]);
        return new self(0, $pair[1], true, self::sleepUntilDeath($pair[1], $worker, $terminal));
    }

    /** Ends a copy that is out of date, and reaps it. */
    public function discard(): void
    {
        posix_kill($this->pid, SIGKILL);
        pcntl_waitpid($this->pid, $status);
        fclose($this->pair);
    }

    public function sendReason(string $reason): void
    {
        @fwrite($this->pair, $reason);
    }

    public static function killSelf(): void
    {
        posix_kill((int) getmypid(), SIGKILL);
    }

    /** @param resource $pair */
    private static function sleepUntilDeath($pair, int $worker, int $terminal): string
    {
        $reason = '';
        while (posix_getppid() === $worker && self::isAlive($terminal)) {
            [$readable, $none] = [[$pair], null];
            if (@stream_select($readable, $none, $none, 0, self::CHECK_MICROSECONDS) === 1) {
                $reason .= (string) fread($pair, 4096);
                if (feof($pair)) {
                    break;
                }
            }
        }
        if (!self::isAlive($terminal)) {
            // A dead process is not found by its number: another process may have that now.
            posix_getppid() === $worker && posix_kill($worker, SIGKILL);
            self::killSelf();
        }
        stream_set_blocking($pair, false);
        $reason .= (string) @stream_get_contents($pair);
        fclose($pair);
        return $reason;
    }

    /** A session that has changed its user may not send a signal to the terminal. */
    private static function isAlive(int $pid): bool
    {
        return posix_kill($pid, 0) || posix_get_last_error() !== PCNTL_ESRCH;
    }
}
