<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** The process behind `php>`. What it needs is in static fields, because every global variable belongs to the user. */
final class Worker
{
    private const FATAL = E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE;
    /** Requests that leave the session as it is. */
    private const QUESTIONS = ['check', 'complete', 'list', 'snapshot'];

    private static Channel $channel;
    private static TerminalSession $session;
    private static Protection $protection;
    private static int $requestId = 0;
    /** The handling of a request that has not been answered. */
    private static ?\Generator $handling = null;
    private static bool $isEvaluating = false;
    private static bool $isEnding = false;

    public static function open(): void
    {
        CodeStream::register();
        self::$channel = new Channel('php://fd/3');
        self::$session = new TerminalSession(self::$channel);
        self::$protection = new Protection(self::$channel);
        self::watchInterrupts();
        register_shutdown_function(self::atShutdown(...));
        set_error_handler(Failure::warn(...));
    }

    /** Answers requests until one has code to evaluate, which CodeStream then holds; false when the session is over. */
    public static function next(): bool
    {
        while (!self::$handling?->valid()) {
            self::answer();
            while (($reason = self::$protection->renew()) !== null) {
                self::takeOver($reason);
            }
            $request = self::$channel->read();
            if ($request === null || $request['type'] === 'bye') {
                self::$isEnding = true;
                self::$protection->end();
                return false;
            }
            if (!in_array($request['type'], self::QUESTIONS, true)) {
                self::$protection->expire();
            }
            self::$requestId = $request['id'];
            self::$handling = self::$session->handle($request);
        }
        CodeStream::hold(self::$handling->current());
        self::$isEvaluating = true;
        return true;
    }

    /** Hands on the value of the evaluated code. */
    public static function succeed(mixed $value): void
    {
        self::settle();
        self::$handling->send($value);
    }

    /** Hands on an exception of the evaluated code. */
    public static function fail(\Throwable $error): void
    {
        self::settle();
        self::$handling->throw($error);
    }

    private static function answer(): void
    {
        if (self::$handling !== null) {
            self::$channel->write(['id' => self::$requestId] + self::$handling->getReturn());
        }
        self::$handling = null;
    }

    /** Ends an evaluation. A process that the evaluated code forked must not answer: it ends here. */
    private static function settle(): void
    {
        if (!self::$protection->isWorker()) {
            Backup::killSelf();
        }
        self::$isEvaluating = false;
        self::watchInterrupts();
    }

    private static function watchInterrupts(): void
    {
        if (!function_exists('pcntl_signal')) {
            return;
        }
        pcntl_async_signals(true);
        pcntl_signal(SIGINT, static function (): void {
            if (self::$isEvaluating) {
                throw new Interrupted('Interrupted');
            }
        });
    }

    /** The copy becomes the worker. The connections that it shares with the dead process are in an unknown state. */
    private static function takeOver(string $reason): void
    {
        self::watchInterrupts();
        $notes = Connections::release($reason === '');
        try {
            self::reconnect();
        } catch (\Throwable $error) {
            $notes[] = 'reconnect failed: ' . $error->getMessage();
        }
        self::$channel->write(['id' => 0, 'type' => 'restored', 'pid' => getmypid(), 'notes' => $notes]);
    }

    /** Lets the preload's $executor connect again; see docs/reference/scriptify-terminal.md. */
    private static function reconnect(): void
    {
        $executor = $GLOBALS['executor'] ?? null;
        if (is_object($executor) && method_exists($executor, 'reconnect')) {
            $executor->reconnect();
        }
    }

    private static function atShutdown(): void
    {
        if (self::$isEnding) {
            return;
        }
        if (!self::$protection->isWorker()) {
            Backup::killSelf();
            return;
        }
        ini_set('memory_limit', '-1');
        $reason = self::causeOfDeath();
        self::$channel->write(['id' => self::$requestId, 'type' => 'dying', 'reason' => $reason]);
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        self::$protection->handOver($reason);
    }

    private static function causeOfDeath(): string
    {
        $error = error_get_last();
        return match (true) {
            (($error['type'] ?? 0) & self::FATAL) !== 0 => 'fatal error: ' . strtok($error['message'], "\n"),
            connection_aborted() === 1 => 'its output cannot be written',
            default => 'exit() was called',
        };
    }
}
