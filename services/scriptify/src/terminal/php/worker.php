<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** The state of a terminal session. All of it is here, because every global variable belongs to the user. */
final class Worker
{
    /** Size above which copying the page tables for a fork would delay every statement. */
    private const MAX_FORK_BYTES = 1 << 30;
    private const FATAL = E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE;
    private const RESERVED = [
        'GLOBALS', '_GET', '_POST', '_COOKIE', '_FILES', '_SERVER', '_ENV', '_REQUEST', 'argv', 'argc', '_', '_e', '__composer_autoload_files',
    ];

    private static Channel $channel;
    private static Imports $imports;
    private static ?Backup $backup = null;
    private static bool $forks = false;
    private static bool $saidTooLarge = false;
    private static bool $isEvaluating = false;
    private static bool $isEnding = false;
    private static bool $isBackupStale = true;
    /** The folder of the autoloader, and so of Composer's packages; null without an autoloader. */
    private static ?string $libraries = null;
    private static int $pid = 0;
    /** The process that started this one. */
    private static int $terminal = 0;

    /** @var array{id: int, type: string, ...} the request in progress */
    private static array $request = ['id' => 0, 'type' => ''];
    private static string $shows = 'nothing';

    /** @var list<array{code: string, step: string}> the code that `start` has still to run */
    private static array $opening = [];

    /** @var list<string> messages for the user, collected while opening */
    private static array $notes = [];

    public static function open(): void
    {
        CodeStream::register();
        self::$channel = new Channel('php://fd/3');
        self::$imports = new Imports();
        self::$pid = (int) getmypid();
        self::$forks = function_exists('pcntl_fork') && function_exists('posix_kill');
        self::$terminal = self::$forks ? posix_getppid() : 0;
        self::watchInterrupts();
        register_shutdown_function(self::atShutdown(...));
        set_error_handler(Failure::warn(...));
    }

    /** Waits for the next code to evaluate; false when the session is over. */
    public static function next(): bool
    {
        while (true) {
            if (self::$opening !== []) {
                ['code' => $code, 'step' => $step] = array_shift(self::$opening);
                CodeStream::hold($code);
                self::$channel->write(['id' => 0, 'type' => 'opening', 'step' => $step]);
                self::$shows = 'nothing';
                self::$isEvaluating = true;
                return true;
            }
            if (self::$request['type'] === 'start') {
                self::ready();
            }
            self::protect();
            $request = self::$channel->read();
            if ($request === null || $request['type'] === 'bye') {
                self::end();
                return false;
            }
            self::$request = $request;
            if (self::answer($request)) {
                return true;
            }
        }
    }

    /** Reports the value of the evaluated code. */
    public static function reportValue(mixed $value): void
    {
        self::settle();
        if (self::$request['type'] === 'start') {
            return;
        }
        $shown = null;
        if (self::$shows === 'value' || (self::$shows === 'non-null' && $value !== null)) {
            $GLOBALS['_'] = $value;
            $shown = Renderer::render($value);
        }
        self::reply(['type' => 'done', 'ok' => true, 'shown' => $shown] + self::memory());
    }

    /** Reports an exception of the evaluated code. */
    public static function reportFailure(\Throwable $error): void
    {
        self::settle();
        $wasInterrupt = $error instanceof Interrupted;
        $text = $wasInterrupt ? 'Interrupted' : Failure::describe($error);
        if (self::$request['type'] === 'start') {
            self::$notes[] = $text;
            return;
        }
        self::reply(['type' => 'done', 'ok' => false, 'error' => $text, 'interrupted' => $wasInterrupt] + self::memory());
    }

    /** Lets the preload's $executor connect again; see docs/reference/scriptify-terminal.md. */
    public static function reconnect(): void
    {
        $executor = $GLOBALS['executor'] ?? null;
        if (is_object($executor) && method_exists($executor, 'reconnect')) {
            $executor->reconnect();
        }
    }

    /**
     * Answers a request; true if it left code to evaluate.
     *
     * @param array<string, mixed> $request
     */
    private static function answer(array $request): bool
    {
        $code = (string) ($request['code'] ?? '');
        if ($request['type'] === 'eval') {
            return self::prepare($code);
        }
        if ($request['type'] === 'start') {
            self::prepareOpening($request);
            return false;
        }
        self::reply(match ($request['type']) {
            'check' => ['type' => 'checked', 'incomplete' => Completeness::isIncomplete($code)],
            'complete' => ['type' => 'completions'] + Completion::of((string) $request['line'], self::$imports),
            'list' => ['type' => 'listed', 'text' => Listing::variables(self::userVariables(), self::$libraries)],
            'snapshot' => ['type' => 'snapshot', 'snapshot' => Snapshot::take(self::userVariables()), 'names' => array_keys(self::userVariables())],
        });
        return false;
    }

    private static function prepare(string $code): bool
    {
        $code = Tokens::withoutOpenTag($code);
        $error = Completeness::isIncomplete($code) ? 'ParseError: unexpected end of input' : FatalCheck::of($code);
        if ($error !== null) {
            self::reply(['type' => 'done', 'ok' => false, 'error' => $error]);
            return false;
        }
        $message = Tokens::parseError("{$code}\n;");
        if ($message === null) {
            $code = Statements::takeImports($code, self::$imports);
        }
        ['code' => $code, 'shows' => self::$shows] = LastExpression::withReturn($code);
        CodeStream::hold(self::$imports->prefix() . $code);
        self::$isEvaluating = true;
        return true;
    }

    /** @param array<string, mixed> $request */
    private static function prepareOpening(array $request): void
    {
        self::$notes = [];
        Renderer::$colors = (bool) $request['colors'];
        self::$isBackupStale = true;
        if (is_string($request['autoloader'] ?? null)) {
            self::$libraries = dirname((string) realpath($request['autoloader'])) . '/';
            self::$opening[] = ['code' => 'require_once ' . var_export($request['autoloader'], true) . ';', 'step' => 'autoloader'];
        }
        if (is_string($request['preload'] ?? null)) {
            $preload = $request['preload'];
            Statements::takeImports((string) preg_replace('/\?>.*\z/s', '', (string) @file_get_contents($preload)), self::$imports);
            self::$opening[] = ['code' => 'include ' . var_export($preload, true) . ';', 'step' => 'preload'];
        }
        foreach ((array) ($request['declarations'] ?? []) as $declaration) {
            $rest = Statements::takeImports((string) $declaration, self::$imports);
            self::$opening[] = ['code' => self::$imports->prefix() . $rest . "\n;", 'step' => 'declaration'];
        }
        if (is_string($request['snapshot'] ?? null)) {
            $snapshot = var_export($request['snapshot'], true);
            self::$opening[] = ['code' => '\\' . self::class . "::restoreVariables({$snapshot});", 'step' => 'variables'];
        }
    }

    /** Restores the variables of a snapshot; called by the code that `start` evaluates. */
    public static function restoreVariables(string $snapshot): void
    {
        self::$notes = [...self::$notes, ...Snapshot::restore($snapshot)];
    }

    private static function ready(): void
    {
        self::reply(['type' => 'ready', 'pid' => self::$pid, 'version' => PHP_VERSION, 'forks' => self::$forks,
            'notes' => self::$notes, 'names' => array_keys(self::userVariables())]);
        self::$request = ['id' => 0, 'type' => ''];
    }

    /** Ends an evaluation. A process that the evaluated code forked must not answer: it ends here. */
    private static function settle(): void
    {
        if (getmypid() !== self::$pid) {
            Backup::killSelf();
        }
        self::$isEvaluating = false;
        self::$isBackupStale = true;
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

    /** Leaves a sleeping copy with the present state behind; the death of this process wakes it. */
    private static function protect(): void
    {
        if (!self::$forks || !self::$isBackupStale) {
            return;
        }
        self::$isBackupStale = false;
        self::$backup?->discard();
        self::$backup = null;
        if (memory_get_usage(true) > self::MAX_FORK_BYTES) {
            self::warnOfSize();
            return;
        }
        self::$backup = Backup::fork(self::$terminal);
        if (self::$backup === null) {
            return;
        }
        if (self::$backup->isCopy) {
            self::takeOver(self::$backup->reason);
        } else {
            self::$channel->write(['id' => 0, 'type' => 'protected', 'pid' => self::$backup->pid]);
        }
    }

    private static function warnOfSize(): void
    {
        if (!self::$saidTooLarge) {
            self::$channel->write(['id' => 0, 'type' => 'log', 'text' => 'The session uses more than 1 GiB: it is no longer protected by a copy']);
        }
        self::$saidTooLarge = true;
    }

    /** The copy becomes the worker. The connections that it shares with the dead process are in an unknown state. */
    private static function takeOver(string $reason): void
    {
        self::$backup = null;
        self::$isBackupStale = true;
        self::$isEvaluating = false;
        self::$pid = (int) getmypid();
        self::watchInterrupts();
        $notes = Connections::release($reason === '');
        try {
            self::reconnect();
        } catch (\Throwable $error) {
            $notes[] = 'reconnect failed: ' . $error->getMessage();
        }
        self::$channel->write(['id' => 0, 'type' => 'restored', 'pid' => self::$pid, 'notes' => $notes]);
        self::protect();
    }

    private static function atShutdown(): void
    {
        if (self::$isEnding) {
            return;
        }
        if (getmypid() !== self::$pid) {
            Backup::killSelf();
            return;
        }
        ini_set('memory_limit', '-1');
        $reason = self::causeOfDeath();
        self::$channel->write(['id' => self::$request['id'], 'type' => 'dying', 'reason' => $reason]);
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        if (self::$backup !== null) {
            self::$backup->sendReason($reason);
            // A destructor would close connections that the copy continues to use.
            Backup::killSelf();
        }
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

    private static function end(): void
    {
        self::$isEnding = true;
        self::$backup?->discard();
    }

    /** @return array{declarations?: list<string>, names?: list<string>} what a new worker needs */
    private static function memory(): array
    {
        $source = (string) (self::$request['code'] ?? '');
        $declarations = [...Statements::imports($source), ...Statements::declarations($source)];
        $memory = $declarations === [] ? [] : ['declarations' => $declarations];
        return self::$forks ? $memory : $memory + ['names' => array_keys(self::userVariables())];
    }

    /** @return array<string, mixed> */
    private static function userVariables(): array
    {
        return array_diff_key($GLOBALS, array_flip(self::RESERVED));
    }

    /** @param array<string, mixed> $message */
    private static function reply(array $message): void
    {
        self::$channel->write(['id' => self::$request['id']] + $message);
    }
}
