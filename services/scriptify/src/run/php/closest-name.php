<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** The name that a mistyped one may mean, in the words of shared/text/closest-name.ts. */
final class ClosestName
{
    /** The number of edits above which a word is another one. */
    private const MAX_DISTANCE = 2;
    private const MIN_SIMILARITY = 0.6;
    private const MAX_CLASSES = 5000;

    /** @param list<string> $candidates */
    public static function didYouMean(string $word, array $candidates): string
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

    public static function didYouMeanClass(string $class): string
    {
        $classes = self::composerClasses();
        foreach (str_contains($class, '\\') ? [] : $classes as $candidate) {
            if (str_replace('\\', '', $candidate) === $class) {
                return " (did you mean {$candidate}? Quote it: the shell removes backslashes)";
            }
        }
        return self::didYouMean($class, $classes) ?: self::didYouMeanShortName($class, $classes);
    }

    /**
     * A class that is named without its namespace.
     *
     * @param list<string> $classes
     */
    private static function didYouMeanShortName(string $class, array $classes): string
    {
        if (str_contains($class, '\\')) {
            return '';
        }
        $short = static fn (string $name): string => array_slice(explode('\\', $name), -1)[0];
        $byShortName = array_combine(array_map($short, $classes), $classes);
        $closest = self::closest($class, array_map(strval(...), array_keys($byShortName)));
        return $closest === null ? '' : " (did you mean {$byShortName[$closest]}?)";
    }

    /** @return list<string> the project's classes, by the files in Composer's PSR-4 folders */
    private static function composerClasses(): array
    {
        $found = [];
        foreach (self::loadedPrefixes() ?: self::manifestPrefixes() as $prefix => $folders) {
            foreach ((array) $folders as $folder) {
                $found = [...$found, ...self::classesUnder((string) $prefix, rtrim((string) $folder, '/'))];
            }
        }
        return array_slice($found, 0, self::MAX_CLASSES);
    }

    /** @return array<string, list<string>> the PSR-4 folders of Composer's autoloader */
    private static function loadedPrefixes(): array
    {
        $prefixes = [];
        foreach (spl_autoload_functions() as $loader) {
            $object = is_array($loader) ? $loader[0] : null;
            if (is_object($object) && method_exists($object, 'getPrefixesPsr4')) {
                $prefixes += $object->getPrefixesPsr4();
            }
        }
        return $prefixes;
    }

    /** @return array<string, string|list<string>> the PSR-4 folders of a project with another autoloader */
    private static function manifestPrefixes(): array
    {
        $manifest = is_file('composer.json') ? json_decode((string) file_get_contents('composer.json'), true) : null;
        return $manifest['autoload']['psr-4'] ?? [];
    }

    /** @return list<string> */
    private static function classesUnder(string $prefix, string $folder): array
    {
        if (preg_match('~/(vendor|node_modules)(/|$)~', (string) realpath($folder)) === 1) {
            return [];
        }
        $found = [];
        foreach (glob("{$folder}/*") ?: [] as $path) {
            $name = basename($path, '.php');
            if (is_dir($path) && !is_link($path)) {
                $found = [...$found, ...self::classesUnder("{$prefix}{$name}\\", $path)];
            } elseif (str_ends_with($path, '.php')) {
                $found[] = $prefix . $name;
            }
        }
        return $found;
    }
}
