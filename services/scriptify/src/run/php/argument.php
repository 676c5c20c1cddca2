<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** Converts an argument of the command line to the type of its parameter. */
final class Argument
{
    private const BOOLEANS = ['true' => true, '1' => true, 'false' => false, '0' => false];
    private const MAX_SHOWN = 40;

    /**
     * Converts a text as the type says; a value of `--json-arg`, whose objects are stdClass, has to be of the type. Throws
     * a CliError (2) for a value that does not fit.
     *
     * @param int $number the place of the argument, from 1
     */
    public static function convert(mixed $value, \ReflectionParameter $parameter, int $number): mixed
    {
        $type = $parameter->getType();
        if ($type === null) {
            return self::withArrays($value);
        }
        $converted = self::byType($value, $type);
        if ($converted !== []) {
            return $converted[0];
        }
        $shown = json_encode($value, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PARTIAL_OUTPUT_ON_ERROR);
        $shown = preg_replace('/^(.{' . self::MAX_SHOWN . '}).+$/us', '$1…', (string) $shown);
        $takes = self::choices($type);
        throw new CliError("Argument {$number}, {$shown}, does not fit <" . Docs::parameter($parameter) . ">{$takes}", CliError::USAGE);
    }

    /** @return array{}|array{mixed} the value, if it fits */
    private static function byType(mixed $value, \ReflectionType $type): array
    {
        if ($type instanceof \ReflectionUnionType) {
            return self::byUnion($value, $type);
        }
        if (!$type instanceof \ReflectionNamedType) {
            return [];
        }
        $found = $type->isBuiltin() ? self::byBuiltin($value, $type->getName()) : self::byClass($value, $type->getName());
        return $found === [] && $type->allowsNull() ? self::byBuiltin($value, 'null') : $found;
    }

    /** @return array{}|array{mixed} */
    private static function byUnion(mixed $value, \ReflectionUnionType $type): array
    {
        // As in php's weak mode, a text stays one where that is allowed.
        $members = $type->getTypes();
        usort($members, static fn ($one, $other): int => ((string) $other === 'string') <=> ((string) $one === 'string'));
        foreach ($members as $member) {
            $found = self::byType($value, $member);
            if ($found !== []) {
                return $found;
            }
        }
        return [];
    }

    /** @return array{}|array{mixed} */
    private static function byBuiltin(mixed $value, string $name): array
    {
        $text = is_string($value) ? $value : null;
        return match ($name) {
            'mixed' => [self::withArrays($value)],
            'string' => is_string($value) ? [$value] : [],
            'int' => is_int($value) || filter_var($text ?? '', FILTER_VALIDATE_INT) !== false ? [(int) $value] : [],
            'float' => (is_int($value) || is_float($value) || is_numeric($text)) && self::isSameFloat((string) $value) ? [(float) $value] : [],
            'bool' => self::boolean($value),
            'true', 'false' => self::boolean($value) === [$name === 'true'] ? [$name === 'true'] : [],
            'null' => $value === null || $text === 'null' ? [null] : [],
            'array', 'iterable' => self::json($value, true, is_array(...)),
            'object' => self::json($value, false, is_object(...)),
            default => [],
        };
    }

    /** True where a float can hold a number: neither INF, nor another integer, nor 0 in place of a small one. */
    private static function isSameFloat(string $text): bool
    {
        $float = (float) $text;
        if ($float === 0.0) {
            return preg_match('/^[^e]*[1-9]/i', $text) === 0;
        }
        return preg_match('/^\s*([+-]?)0*(\d+)\s*$/', $text, $digits) === 1
            ? number_format(abs($float), 0, '', '') === $digits[2]
            : is_finite($float);
    }

    /**
     * Decodes JSON; throws a JsonException also for a number that would become another one.
     */
    public static function decodeJson(string $text, bool $asArray): mixed
    {
        $value = json_decode($text, $asArray, 512, JSON_THROW_ON_ERROR);
        $integersAsText = json_decode($text, $asArray, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
        if (serialize($value) !== serialize($integersAsText) || str_contains(serialize($value), 'd:INF;')) {
            throw new \JsonException('it has a number that php cannot hold: give it as a string');
        }
        return $value;
    }

    /** @return array{}|array{bool} */
    private static function boolean(mixed $value): array
    {
        if (is_bool($value)) {
            return [$value];
        }
        $found = is_string($value) ? self::BOOLEANS[strtolower($value)] ?? null : null;
        return $found === null ? [] : [$found];
    }

    /** @return array{}|array{mixed} */
    private static function json(mixed $value, bool $asArray, callable $fits): array
    {
        try {
            $read = is_string($value) ? self::decodeJson($value, $asArray) : ($asArray ? self::withArrays($value) : $value);
            return $fits($read) ? [$read] : [];
        } catch (\JsonException) {
            return [];
        }
    }

    /** Arrays for the objects of JSON, as `json_decode($text, true)` has them. */
    public static function withArrays(mixed $value): mixed
    {
        return is_array($value) || is_object($value) ? array_map(self::withArrays(...), (array) $value) : $value;
    }

    /** @return array{}|array{object} */
    private static function byClass(mixed $value, string $name): array
    {
        if ($name === \stdClass::class) {
            return self::json($value, false, is_object(...));
        }
        if (!is_string($value) && !is_int($value)) {
            return [];
        }
        if (enum_exists($name)) {
            return self::enumCase((string) $value, $name);
        }
        if (!is_a(\DateTimeImmutable::class, $name, true) && $name !== \DateTime::class) {
            return [];
        }
        try {
            $date = $name === \DateTime::class ? new \DateTime((string) $value) : new \DateTimeImmutable((string) $value);
            // php warns about 31 February, and reads it as 3 March.
            return $value === '' || (\DateTime::getLastErrors()['warning_count'] ?? 0) > 0 ? [] : [$date];
        } catch (\Exception) {
            return [];
        }
    }

    /**
     * @param class-string<\UnitEnum> $enum
     * @return array{}|array{\UnitEnum}
     */
    private static function enumCase(string $text, string $enum): array
    {
        foreach ($enum::cases() as $case) {
            if ((string) ($case instanceof \BackedEnum ? $case->value : $case->name) === $text) {
                return [$case];
            }
        }
        return [];
    }

    /** Names the values that an enum or a class takes, as the end of the error message; empty for another type. */
    private static function choices(\ReflectionType $type): string
    {
        if (!$type instanceof \ReflectionNamedType || $type->isBuiltin()) {
            return '';
        }
        $name = $type->getName();
        if (enum_exists($name)) {
            $names = array_map(
                static fn (\UnitEnum $case): string => (string) ($case instanceof \BackedEnum ? $case->value : $case->name),
                $name::cases(),
            );
            return ': give ' . implode(', ', $names);
        }
        return match (true) {
            $name === \stdClass::class => ': give a JSON object',
            is_a($name, \DateTimeInterface::class, true) => ': give a date',
            default => ': such an object cannot be given',
        };
    }
}
