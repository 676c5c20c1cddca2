<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** The variables that a new process can have exactly as they were. */
final class Snapshot
{
    private const MAX_BYTES = 4 << 20;
    private const MAX_VALUES = 100_000;

    /**
     * Serialises what can be; leaves out closures, connections and a variable that does not fit.
     *
     * @param array<string, mixed> $variables
     */
    public static function take(array $variables): string
    {
        $kept = [];
        $size = 0;
        foreach ($variables as $name => $value) {
            $text = self::serialize($value);
            if ($text === null || $size + strlen($text) > self::MAX_BYTES) {
                continue;
            }
            $size += strlen($text);
            $kept[$name] = $text;
        }
        return (string) json_encode((object) $kept, JSON_INVALID_UTF8_SUBSTITUTE);
    }

    /**
     * Sets the global variables of a snapshot.
     *
     * @return list<string> notes on those that could not be restored
     */
    public static function restore(string $snapshot): array
    {
        $notes = [];
        foreach (json_decode($snapshot, true) ?? [] as $name => $value) {
            try {
                $GLOBALS[$name] = unserialize((string) base64_decode($value));
            } catch (\Throwable $error) {
                $notes[] = "\${$name} could not be restored: {$error->getMessage()}";
            }
        }
        return $notes;
    }

    private static function serialize(mixed $value): ?string
    {
        [$left, $seen] = [self::MAX_VALUES, []];
        try {
            return self::holdsResource($value, $left, $seen) ? null : base64_encode(serialize($value));
        } catch (\Throwable) {
            return null;
        }
    }

    /**
     * True where a resource is in a value, open or closed: serialize() would make it a number. So does one of which too much
     * would have to be looked at, such as an array in itself.
     *
     * @param array<int, true> $seen the objects that were looked at
     */
    private static function holdsResource(mixed $value, int &$left, array &$seen): bool
    {
        if (is_object($value) && isset($seen[spl_object_id($value)])) {
            return false;
        }
        if (--$left < 0 || str_starts_with(gettype($value), 'resource')) {
            return true;
        }
        if (is_object($value)) {
            $seen[spl_object_id($value)] = true;
            $value = get_mangled_object_vars($value);
        }
        foreach (is_array($value) ? $value : [] as $each) {
            if (self::holdsResource($each, $left, $seen)) {
                return true;
            }
        }
        return false;
    }
}
