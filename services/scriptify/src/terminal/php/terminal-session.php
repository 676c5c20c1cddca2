<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** A terminal session: its imports, and what it does at each request. Its variables are those of the global scope. */
final class TerminalSession
{
    private const RESERVED = [
        'GLOBALS', '_GET', '_POST', '_COOKIE', '_FILES', '_SERVER', '_ENV', '_REQUEST', 'argv', 'argc', '_', '_e', '__composer_autoload_files',
    ];

    private readonly Imports $imports;
    /** The folder of the autoloader, and so of Composer's packages; null without an autoloader. */
    private ?string $libraries = null;

    public function __construct(private readonly Channel $channel)
    {
        $this->imports = new Imports();
    }

    /**
     * Handles a request: yields each code that the global scope has to evaluate, receives its value or its exception, and
     * returns the answer.
     *
     * @param array<string, mixed> $request
     * @return \Generator<int, string, mixed, array<string, mixed>>
     */
    public function handle(array $request): \Generator
    {
        $code = (string) ($request['code'] ?? '');
        return match ($request['type']) {
            'start' => yield from $this->start($request),
            'eval' => yield from $this->evaluate($code),
            'check' => ['type' => 'checked', 'incomplete' => Completeness::isIncomplete($code)],
            'complete' => ['type' => 'completions'] + Completion::of((string) $request['line'], $this->imports),
            'list' => ['type' => 'listed', 'text' => Listing::variables(self::variables(), $this->libraries)],
            'snapshot' => ['type' => 'snapshot', 'snapshot' => Snapshot::take(self::variables()), 'names' => self::names()],
        };
    }

    /**
     * @param array<string, mixed> $request
     * @return \Generator<int, string, mixed, array<string, mixed>>
     */
    private function start(array $request): \Generator
    {
        Renderer::$colors = (bool) $request['colors'];
        $notes = [];
        foreach ($this->steps($request) as $step => $code) {
            $this->channel->write(['id' => 0, 'type' => 'opening', 'step' => $step]);
            try {
                $value = yield $code;
                $notes = [...$notes, ...($step === 'variables' ? $value : [])];
            } catch (\Throwable $error) {
                $notes[] = Failure::describe($error);
            }
        }
        return ['type' => 'ready', 'pid' => getmypid(), 'version' => PHP_VERSION, 'forks' => Backup::isPossible(),
            'notes' => $notes, 'names' => self::names()];
    }

    /**
     * Finds the steps of a start, and the code of each. The code of the step `variables` returns notes for the user.
     *
     * @param array<string, mixed> $request
     * @return iterable<string, string>
     */
    private function steps(array $request): iterable
    {
        ['autoloader' => $autoloader, 'preload' => $preload, 'snapshot' => $snapshot] = $request
            + ['autoloader' => null, 'preload' => null, 'snapshot' => null];
        if (is_string($autoloader)) {
            $this->libraries = dirname((string) realpath($autoloader)) . '/';
            yield 'autoloader' => 'require_once ' . var_export($autoloader, true) . ';';
        }
        if (is_string($preload)) {
            Statements::takeImports((string) preg_replace('/\?>.*\z/s', '', (string) @file_get_contents($preload)), $this->imports);
            yield 'preload' => 'include ' . var_export($preload, true) . ';';
        }
        foreach ((array) ($request['declarations'] ?? []) as $declaration) {
            $rest = Statements::takeImports((string) $declaration, $this->imports);
            yield 'declaration' => $this->imports->prefix() . $rest . "\n;";
        }
        if (is_string($snapshot)) {
            yield 'variables' => 'return \\' . Snapshot::class . '::restore(' . var_export($snapshot, true) . ');';
        }
    }

    /** @return \Generator<int, string, mixed, array<string, mixed>> */
    private function evaluate(string $source): \Generator
    {
        $code = Tokens::withoutOpenTag($source);
        $error = Completeness::isIncomplete($code) ? 'ParseError: unexpected end of input' : FatalCheck::of($code);
        if ($error !== null) {
            return ['type' => 'done', 'ok' => false, 'error' => $error];
        }
        if (Tokens::parseError("{$code}\n;") === null) {
            $code = Statements::takeImports($code, $this->imports);
        }
        ['code' => $code, 'shows' => $shows] = LastExpression::withReturn($code);
        try {
            $value = yield $this->imports->prefix() . $code;
            $result = ['ok' => true, 'shown' => self::show($value, $shows)];
        } catch (\Throwable $error) {
            $result = ['ok' => false, 'error' => Failure::describe($error), 'interrupted' => $error instanceof Interrupted];
        }
        return ['type' => 'done'] + $result + self::memory($source);
    }

    private static function show(mixed $value, string $shows): ?string
    {
        if ($shows === 'nothing' || ($shows === 'non-null' && $value === null)) {
            return null;
        }
        $GLOBALS['_'] = $value;
        return Renderer::render($value);
    }

    /** @return array{declarations?: list<string>, names?: list<string>} what a new worker needs */
    private static function memory(string $source): array
    {
        $declarations = [...Statements::imports($source), ...Statements::declarations($source)];
        $memory = $declarations === [] ? [] : ['declarations' => $declarations];
        return Backup::isPossible() ? $memory : $memory + ['names' => self::names()];
    }

    /** @return array<string, mixed> the user's variables */
    private static function variables(): array
    {
        return array_diff_key($GLOBALS, array_flip(self::RESERVED));
    }

    /** @return list<string> */
    private static function names(): array
    {
        return array_keys(self::variables());
    }
}
