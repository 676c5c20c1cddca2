<?php

namespace App;

/** A method for each type of argument; src/typed.ts is the same in TypeScript. */
final class Typed
{
    public function add(float $one, float $two = 2): float
    {
        $sum = $one + $two;
        return $sum;
    }

    public function flags(bool $on, bool $off): array
    {
        return [$on, $off];
    }

    public function nothing(?int $one): ?int
    {
        return $one;
    }

    public function either(int|string $value): int|string
    {
        return $value;
    }

    public function level(Level $level): string
    {
        return $level->value;
    }

    public function when(\DateTimeInterface $at): \DateTimeInterface
    {
        return $at;
    }

    public function list(array $values): array
    {
        return $values;
    }

    public function object(object $value): object
    {
        return $value;
    }

    public function standard(\stdClass $value): \stdClass
    {
        return $value;
    }

    public function nested(object $value): string
    {
        return get_debug_type($value->a) . ' ' . get_debug_type($value->b->c);
    }

    public function arrays(mixed $value): string
    {
        return get_debug_type($value['b']['c']);
    }

    public function below(int $limit = -1): int
    {
        return $limit;
    }

    public function sum(int ...$numbers): int
    {
        return array_sum($numbers);
    }

    public function untyped($value)
    {
        return $value;
    }

    public function text(string $value): string
    {
        return $value;
    }

    public function clock(Clock $clock): void
    {
    }

    public function countdown(int $from): \Generator
    {
        for ($left = $from; $left > 0; $left--) {
            yield $left;
        }
        fwrite(STDERR, "lift-off\n");
    }
}

enum Level: string
{
    case Low = 'low';
    case High = 'high';
}

final class Clock
{
}
