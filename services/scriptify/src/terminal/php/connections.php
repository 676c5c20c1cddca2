<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Database handles in the user's variables. */
final class Connections
{
    private const HANDLES = ['PDO', 'mysqli', 'PgSql\Connection'];
    private const STATEMENTS = ['PDOStatement', 'mysqli_stmt', 'mysqli_result', 'PgSql\Result'];

    /**
     * Removes, after a crash, every handle whose socket may contain an answer to the dead process's query: the next
     * query would silently receive it.
     *
     * @return list<string> messages for the user
     */
    public static function release(bool $wasKilled): array
    {
        $notes = [];
        foreach (array_keys($GLOBALS) as $name) {
            $value = $GLOBALS[$name] ?? null;
            if (!is_object($value) || $name === 'executor') {
                continue;
            }
            if (self::isOneOf($value, self::HANDLES) && ($wasKilled || !self::isInStep($value))) {
                $GLOBALS[$name] = null;
                $notes[] = "\${$name} was a database connection in an unknown state: it is now null; connect again";
            } elseif (self::isOneOf($value, self::STATEMENTS) && $wasKilled) {
                $GLOBALS[$name] = null;
                $notes[] = "\${$name} was a result of a database connection in an unknown state: it is now null";
            } elseif (!self::isOneOf($value, self::HANDLES) && self::holdsHandle($value, 3)) {
                $notes[] = "\${$name} holds a database connection that may be out of step; create it again before using it";
            }
        }
        return $notes;
    }

    /** Tells whether a query receives its own answer. */
    private static function isInStep(object $handle): bool
    {
        $nonce = (string) random_int(1_000_000, PHP_INT_MAX);
        try {
            $answer = match (true) {
                $handle instanceof \PDO => $handle->query("SELECT {$nonce}")?->fetchColumn(),
                $handle instanceof \mysqli => $handle->query("SELECT {$nonce}")->fetch_row()[0] ?? null,
                default => pg_fetch_result(pg_query($handle, "SELECT {$nonce}"), 0, 0),
            };
        } catch (\Throwable) {
            return false;
        }
        return (string) $answer === $nonce;
    }

    private static function holdsHandle(object $value, int $depth): bool
    {
        if ($depth === 0 || $value instanceof \Closure) {
            return false;
        }
        foreach (array_slice(get_mangled_object_vars($value), 0, 50) as $property) {
            if (is_object($property) && (self::isOneOf($property, self::HANDLES) || self::holdsHandle($property, $depth - 1))) {
                return true;
            }
        }
        return false;
    }

    /** @param list<string> $classes */
    private static function isOneOf(object $value, array $classes): bool
    {
        return array_filter($classes, static fn (string $class): bool => $value instanceof $class) !== [];
    }
}
