<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Finds the completions of a line. It evaluates nothing, but loads the class whose members it lists. */
final class Completion
{
    private const MAX_CANDIDATES = 200;
    private const NAME = '[A-Za-z_\x80-\xff][\w\x80-\xff]*';
    /** A variable, and real properties from there: `a->b->c` after the dollar sign. */
    private const CHAIN = '\$(' . self::NAME . '(?:\??->' . self::NAME . ')*)';

    /** @return array{word: string, candidates: list<string>} the text to replace, and what may replace it */
    public static function of(string $line, Imports $imports): array
    {
        [$before, $word] = self::lastWord($line);
        $candidates = match (true) {
            str_ends_with($before, '->') => self::members(self::objectAt($before)),
            str_ends_with($before, '::') => self::statics(self::classAt($before, $imports)),
            str_starts_with($word, '$') => array_map(static fn ($name): string => "\${$name}", array_keys($GLOBALS)),
            $word === '' => self::namedArguments($before, $imports),
            default => [...self::namedArguments($before, $imports), ...self::names($word, $imports)],
        };
        $fitting = array_filter(array_unique($candidates), static fn (string $c): bool => stripos($c, $word) === 0);
        natcasesort($fitting);
        return ['word' => $word, 'candidates' => array_slice(array_values($fitting), 0, self::MAX_CANDIDATES)];
    }

    /** @return array{string, string} the text before the last name or variable, and that word, perhaps empty */
    private static function lastWord(string $text): array
    {
        preg_match('/\$?[\w\\\\\x80-\xff]*\z/', $text, $match);
        return [substr($text, 0, strlen($text) - strlen($match[0])), $match[0]];
    }

    /** The object whose arrow ends the text. */
    private static function objectAt(string $text): ?object
    {
        $value = preg_match('/' . self::CHAIN . '\??->\z/', $text, $match) === 1 ? self::resolve($match[1]) : null;
        return is_object($value) ? $value : null;
    }

    /** The class whose double colon ends the text. */
    private static function classAt(string $text, Imports $imports): ?string
    {
        if (preg_match('/' . self::CHAIN . '::\z/', $text, $match) === 1) {
            $value = self::resolve($match[1]);
            return is_object($value) ? $value::class : null;
        }
        return preg_match('/([\w\\\\\x80-\xff]+)::\z/', $text, $match) === 1 ? self::className($match[1], $imports) : null;
    }

    /** Follows `a->b->c` through real properties only: no hook, no __get, no call. */
    private static function resolve(string $chain): mixed
    {
        $steps = preg_split('/\??->/', $chain) ?: [];
        $value = $GLOBALS[array_shift($steps)] ?? null;
        foreach ($steps as $step) {
            $value = is_object($value) ? get_mangled_object_vars($value)[$step] ?? null : null;
        }
        return $value;
    }

    private static function className(string $typed, Imports $imports): string
    {
        return $imports->classAliases()[strtolower($typed)] ?? ltrim($typed, '\\');
    }

    /** @return list<string> */
    private static function members(?object $value): array
    {
        if ($value === null) {
            return [];
        }
        $public = array_filter(array_keys(get_mangled_object_vars($value)), static fn ($p): bool => !str_starts_with((string) $p, "\0"));
        $methods = array_filter(get_class_methods($value), static fn (string $m): bool => !str_starts_with($m, '__'));
        return [...array_map(strval(...), $public), ...array_map(static fn (string $m): string => "{$m}(", $methods)];
    }

    /** @return list<string> */
    private static function statics(?string $class): array
    {
        if ($class === null || !(class_exists($class) || interface_exists($class))) {
            return [];
        }
        $about = new \ReflectionClass($class);
        $isReachable = static fn ($one): bool => $one->isPublic() && $one->isStatic();
        return [
            ...array_keys($about->getConstants(\ReflectionClassConstant::IS_PUBLIC)),
            ...array_map(static fn ($m): string => $m->getName() . '(', array_filter($about->getMethods(), $isReachable)),
            ...array_map(static fn ($p): string => '$' . $p->getName(), array_filter($about->getProperties(), $isReachable)),
            'class',
        ];
    }

    /** @return list<string> where an argument begins, the names of the parameters of what is called, as `name: ` */
    private static function namedArguments(string $before, Imports $imports): array
    {
        $callee = preg_match('/[(,]\s*\z/', $before) === 1 ? self::callee($before) : null;
        try {
            $called = $callee === null ? null : self::called($callee, $imports);
        } catch (\ReflectionException) {
            return [];
        }
        $parameters = array_filter($called?->getParameters() ?? [], static fn ($p): bool => !$p->isVariadic());
        return array_values(array_map(static fn ($p): string => "{$p->getName()}: ", $parameters));
    }

    /** The text before the innermost parenthesis that is still open; null in an array or a block. */
    private static function callee(string $line): ?string
    {
        $open = [];
        $at = strlen('<?php ');
        foreach (\PhpToken::tokenize("<?php {$line}") as $token) {
            if (in_array($token->text, ['(', '[', '{', '#['], true)) {
                $open[] = [$token->text, $token->pos - $at];
            } elseif (in_array($token->text, [')', ']', '}'], true)) {
                array_pop($open);
            }
        }
        [$bracket, $position] = array_pop($open) ?? ['', 0];
        return $bracket === '(' ? rtrim(substr($line, 0, $position)) : null;
    }

    /** The function or method that the text before a parenthesis calls; null for a declaration. Throws a ReflectionException for one that does not exist. */
    private static function called(string $callee, Imports $imports): ?\ReflectionFunctionAbstract
    {
        [$before, $name] = self::lastWord($callee);
        $closure = $GLOBALS[substr($name, 1)] ?? null;
        return match (true) {
            str_ends_with($before, '->') => new \ReflectionMethod(self::objectAt($before) ?? '', $name),
            str_ends_with($before, '::') => new \ReflectionMethod(self::classAt($before, $imports) ?? '', $name),
            preg_match('/\bnew\s+\z/', $before) === 1 => (new \ReflectionClass(self::className($name, $imports)))->getConstructor(),
            preg_match('/\b(?:function|fn)\s+\z/', $before) === 1 => null,
            str_starts_with($name, '$') => $closure instanceof \Closure ? new \ReflectionFunction($closure) : null,
            default => new \ReflectionFunction($name),
        };
    }

    /** @return list<string> functions, classes and constants */
    private static function names(string $word, Imports $imports): array
    {
        $functions = get_defined_functions();
        $names = [
            ...get_declared_classes(), ...get_declared_interfaces(), ...get_declared_traits(), ...self::composerClasses(ltrim($word, '\\')),
            ...array_map(static fn (string $f): string => "{$f}(", [...$functions['internal'], ...$functions['user']]),
            ...array_keys(get_defined_constants()),
        ];
        $names = array_filter($names, static fn (string $n): bool => !str_starts_with($n, 'Latchkey\\Scriptify\\Terminal\\'));
        return str_starts_with($word, '\\')
            ? array_map(static fn (string $n): string => "\\{$n}", $names)
            : [...$names, ...array_map(ucfirst(...), array_keys($imports->classAliases()))];
    }

    /** @return list<string> classes that Composer could load: its class map, and the files of the PSR-4 folder in question */
    private static function composerClasses(string $word): array
    {
        $namespace = substr($word, 0, (int) strrpos("\\{$word}", '\\'));
        $found = [];
        foreach (spl_autoload_functions() as $loader) {
            if (!is_array($loader) || !is_object($loader[0]) || !method_exists($loader[0], 'getPrefixesPsr4')) {
                continue;
            }
            $found = [...$found, ...array_keys($loader[0]->getClassMap())];
            foreach ($loader[0]->getPrefixesPsr4() as $prefix => $folders) {
                $found[] = $prefix;
                $below = stripos($namespace, $prefix) === 0 ? strtr(substr($namespace, strlen($prefix)), '\\', '/') : null;
                foreach ($below === null ? [] : $folders as $folder) {
                    $classes = preg_replace('/\.php\z/', '', preg_grep('/\A[A-Za-z_]\w*(\.php)?\z/', @scandir("{$folder}/{$below}") ?: []));
                    $found = [...$found, ...array_map(static fn (string $c): string => $namespace . $c, $classes)];
                }
            }
        }
        return $found;
    }
}
