<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** The options that call-method.php receives, which src/run/method-call.ts writes. */
final class CallerOptions
{
    private function __construct(
        public readonly string $task,
        /** The reference as the user wrote it. */
        public readonly string $text,
        public readonly string $class,
        public readonly string $method,
        /** @var list<string> */
        public readonly array $arguments,
        /** @var list<int> indexes of the arguments that are JSON */
        public readonly array $json,
        public readonly string $rootdir,
        public readonly ?string $bootstrap,
        /** The file that declares the class; null for one of the autoloader. */
        public readonly ?string $module,
        /** Seconds between calls; null for a single call. */
        public readonly ?float $interval,
        public readonly bool $prints,
        /** True where a failure is told with its frames. */
        public readonly bool $traces,
    ) {
    }

    /** @param list<string> $argv */
    public static function parse(array $argv): self
    {
        $options = json_decode($argv[1], true, 8, JSON_THROW_ON_ERROR);
        return new self(
            $options['task'],
            $options['text'],
            $options['className'],
            $options['method'],
            array_slice($argv, 2),
            $options['jsonArgs'] ?? [],
            $options['rootdir'],
            $options['bootstrap'] ?? null,
            $options['module'] ?? null,
            $options['daemon']['interval'] ?? null,
            $options['print'] ?? false,
            $options['trace'] ?? false,
        );
    }
}
