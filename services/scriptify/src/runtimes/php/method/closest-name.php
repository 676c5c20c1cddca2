<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Method;

/** The name that a mistyped one may mean, in the words of src/closest-name.ts. */
final class ClosestName
{
    /** More edits than these make another word. */
    private const MAX_DISTANCE = 3;
    private const MIN_SIMILARITY = 0.4;
    private const MAX_FILES = 5000;

    /** @param list<string> $candidates */
    public static function question(string $word, array $candidates): string
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
        return $closest === null ? '' : " (did you mean {$closest}?)";
    }

    public static function questionOfClass(string $class): string
    {
        $classes = self::composerClasses();
        foreach (str_contains($class, '\\') ? [] : $classes as $candidate) {
            if (str_replace('\\', '', $candidate) === $class) {
                return " (did you mean {$candidate}? Quote it: the shell removes backslashes)";
            }
        }
        return self::question($class, $classes);
    }

    /** @return list<string> the project's classes, as Composer's class map and PSR-4 folders name them */
    private static function composerClasses(): array
    {
        $found = [];
        foreach (spl_autoload_functions() as $loader) {
            if (!is_array($loader) || !is_object($loader[0]) || !method_exists($loader[0], 'getPrefixesPsr4')) {
                continue;
            }
            $found = [...$found, ...array_keys($loader[0]->getClassMap())];
            foreach ($loader[0]->getPrefixesPsr4() as $prefix => $folders) {
                foreach ($folders as $folder) {
                    $found = [...$found, ...self::classesUnder((string) $prefix, (string) $folder)];
                }
            }
        }
        return array_values(array_unique($found));
    }

    /** @return list<string> */
    private static function classesUnder(string $prefix, string $folder): array
    {
        if (!is_dir($folder) || str_contains((string) realpath($folder), '/vendor/')) {
            return [];
        }
        $found = [];
        $files = new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($folder, \FilesystemIterator::SKIP_DOTS));
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
