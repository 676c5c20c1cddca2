<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Keeps a sleeping copy of the worker, with the state of the session, for as long as the worker lives. */
final class Protection
{
    /** Size above which copying the page tables for a fork would delay every statement. */
    private const MAX_FORK_BYTES = 1 << 30;

    private ?Backup $backup = null;
    private bool $isStale = true;
    private bool $saidTooLarge = false;
    /** The process of the worker. */
    private int $pid;
    /** The process that started the first worker. */
    private readonly int $terminal;

    public function __construct(private readonly Channel $channel)
    {
        $this->pid = (int) getmypid();
        $this->terminal = Backup::isPossible() ? posix_getppid() : 0;
    }

    /** Tells the worker from a process that the user's code forked. */
    public function isWorker(): bool
    {
        return getmypid() === $this->pid;
    }

    /** Notes that the copy is out of date. */
    public function expire(): void
    {
        $this->isStale = true;
    }

    /**
     * Replaces a copy that is out of date. In the worker it returns null at once. In the copy it returns after the death of
     * the worker, with the reason that the worker gave. The copy is the worker from then on.
     */
    public function renew(): ?string
    {
        if (!Backup::isPossible() || !$this->isStale) {
            return null;
        }
        $this->isStale = false;
        $this->end();
        if (memory_get_usage(true) > self::MAX_FORK_BYTES) {
            $this->warnOfSize();
            return null;
        }
        $backup = Backup::fork($this->terminal);
        if ($backup?->isCopy) {
            $this->isStale = true;
            $this->pid = (int) getmypid();
            return $backup->reason;
        }
        $this->backup = $backup;
        if ($backup !== null) {
            $this->channel->write(['id' => 0, 'type' => 'protected', 'pid' => $backup->pid]);
        }
        return null;
    }

    /** Lets the copy, if there is one, continue in place of this process. */
    public function handOver(string $reason): void
    {
        if ($this->backup !== null) {
            $this->backup->sendReason($reason);
            // A destructor would close connections that the copy continues to use.
            Backup::killSelf();
        }
    }

    /** Ends the copy, if there is one. */
    public function end(): void
    {
        $this->backup?->discard();
        $this->backup = null;
    }

    private function warnOfSize(): void
    {
        if (!$this->saidTooLarge) {
            $this->channel->write(['id' => 0, 'type' => 'log', 'text' => 'The session uses more than 1 GiB: it is no longer protected by a copy']);
        }
        $this->saidTooLarge = true;
    }
}
