<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Method;

/** The name that a mistyped one may mean, in the words of src/cli/closest-name.ts. */
final class ClosestName
{
    /** More edits than these make another word. */
    private const MAX_DISTANCE = 3;
    private const MIN_SIMILARITY = 0.4;
    private const MAX_FILES = 5000;

    /** @param list<string> $candidates */
    public static function question(string $word, array $candidates): string
    {
        $closest = self::closest($word, $candidates);
        return $closest === null ? '' : " (did you mean {$closest}?)";
    }

    /** @param list<string> $candidates */
    private static function closest(string $word, array $candidates): ?string
    {
        $closest = null;
        $least = self::MAX_DISTANCE + 1;
        foreach ($candidates as $candidate) {
            $distance = levenshtein(strtolower($word), strtolower($candidate));
            $longest = max(strlen($word), strlen($candidate), 1);
            if ($distance < $least && ($longest - $distance) / $longest >= self::MIN_SIMILARITY) {
                [$closest, $least] = [$candidate, $distance];
            }
        }
        return $closest;
    }

    public static function questionOfClass(string $class): string
    {
        $classes = self::composerClasses();
        foreach (str_contains($class, '\\') ? [] : $classes as $candidate) {
            if (str_replace('\\', '', $candidate) === $class) {
                return " (did you mean {$candidate}? Quote it: the shell removes backslashes)";
            }
        }
        return self::question($class, $classes) ?: self::questionOfShortName($class, $classes);
    }

    /**
     * A class that is named without its namespace.
     *
     * @param list<string> $classes
     */
    private static function questionOfShortName(string $class, array $classes): string
    {
        if (str_contains($class, '\\')) {
            return '';
        }
        $short = static fn (string $name): string => array_slice(explode('\\', $name), -1)[0];
        $byShortName = array_combine(array_map($short, $classes), $classes);
        $closest = self::closest($class, array_map(strval(...), array_keys($byShortName)));
        return $closest === null ? '' : " (did you mean {$byShortName[$closest]}?)";
    }

    /** @return list<string> the project's classes, as Composer's class map and PSR-4 folders name them */
    private static function composerClasses(): array
    {
        $found = [];
        $loaders = array_filter(
            spl_autoload_functions(),
            static fn (mixed $loader): bool => is_array($loader) && is_object($loader[0]) && method_exists($loader[0], 'getPrefixesPsr4'),
        );
        foreach ($loaders as [$loader]) {
            $found = [...$found, ...array_keys($loader->getClassMap()), ...self::classesOf($loader->getPrefixesPsr4())];
        }
        return array_values(array_unique($loaders === [] ? self::classesOf(self::manifestPrefixes()) : $found));
    }

    /** @return array<string, string|list<string>> the PSR-4 folders of a project whose autoloader is not Composer's */
    private static function manifestPrefixes(): array
    {
        $manifest = is_file('composer.json') ? json_decode((string) file_get_contents('composer.json'), true) : null;
        return is_array($manifest['autoload']['psr-4'] ?? null) ? $manifest['autoload']['psr-4'] : [];
    }

    /**
     * @param array<string, string|list<string>> $prefixes
     * @return list<string>
     */
    private static function classesOf(array $prefixes): array
    {
        $found = [];
        foreach ($prefixes as $prefix => $folders) {
            foreach ((array) $folders as $folder) {
                $found = [...$found, ...self::classesUnder((string) $prefix, rtrim((string) $folder, '/'))];
            }
        }
        return $found;
    }

    /** @return list<string> */
    private static function classesUnder(string $prefix, string $folder): array
    {
        if (!is_dir($folder) || !is_readable($folder) || str_contains((string) realpath($folder), '/vendor/')) {
            return [];
        }
        $found = [];
        $tree = new \RecursiveDirectoryIterator($folder, \FilesystemIterator::SKIP_DOTS);
        // A folder in it may be unreadable for this user.
        $files = new \RecursiveIteratorIterator($tree, \RecursiveIteratorIterator::LEAVES_ONLY, \RecursiveIteratorIterator::CATCH_GET_CHILD);
        foreach ($files as $path => $file) {
            if (str_ends_with((string) $path, '.php')) {
                $found[] = $prefix . str_replace('/', '\\', substr((string) $path, strlen($folder) + 1, -4));
            }
            if (count($found) >= self::MAX_FILES) {
                break;
            }
        }
        return $found;
    }
}
