<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Finds the completions of a line, without evaluating anything. */
final class Completion
{
    private const MAX_CANDIDATES = 200;
    private const NAME = '[A-Za-z_\x80-\xff][\w\x80-\xff]*';
    private const KEYWORDS = [
        'abstract', 'array', 'as', 'break', 'case', 'catch', 'class', 'clone', 'const', 'continue', 'declare', 'default', 'do',
        'echo', 'else', 'elseif', 'empty', 'enum', 'extends', 'false', 'final', 'finally', 'fn', 'for', 'foreach', 'function',
        'global', 'if', 'implements', 'include', 'instanceof', 'interface', 'isset', 'list', 'match', 'namespace', 'new', 'null',
        'print', 'private', 'protected', 'public', 'readonly', 'require', 'return', 'static', 'switch', 'throw', 'trait', 'true',
        'try', 'unset', 'use', 'while', 'yield',
    ];

    /** @return array{word: string, candidates: list<string>} the text to replace, and what may replace it */
    public static function of(string $line, Imports $imports): array
    {
        $name = self::NAME;
        $chain = "\\\$({$name}(?:(?:\\?->|->){$name})*)";
        [$word, $candidates] = match (true) {
            preg_match("/{$chain}(?:->|\\?->)((?:{$name})?)\\z/", $line, $m) === 1 => [$m[2], self::members(self::resolve($m[1]))],
            preg_match("/([\\w\\\\\\x80-\\xff]+)::(\\\$?(?:{$name})?)\\z/", $line, $m) === 1 => [$m[2], self::statics(self::className($m[1], $imports))],
            preg_match("/{$chain}::((?:{$name})?)\\z/", $line, $m) === 1 => [$m[2], self::statics(self::classOf(self::resolve($m[1])))],
            preg_match("/{$chain}\\[(['\"])([^'\"]*)\\z/", $line, $m) === 1 => [$m[3], self::keys(self::resolve($m[1]), $m[2])],
            preg_match("/\\\$((?:{$name})?)\\z/", $line, $m) === 1 => ['$' . $m[1], array_map(static fn ($v) => "\${$v}", array_keys($GLOBALS))],
            preg_match('/([\w\\\\\x80-\xff]+)\z/', $line, $m) === 1 => [$m[1], [...self::namedArguments(substr($line, 0, -strlen($m[1])), $imports), ...self::names($m[1], $imports)]],
            default => ['', self::namedArguments($line, $imports)],
        };
        $fitting = array_filter(array_unique($candidates), static fn (string $c): bool => stripos($c, $word) === 0);
        natcasesort($fitting);
        return ['word' => $word, 'candidates' => array_slice(array_values($fitting), 0, self::MAX_CANDIDATES)];
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

    /** @return list<string> */
    private static function members(mixed $value): array
    {
        if (!is_object($value)) {
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
        $public = static fn (array $all): array => array_filter($all, static fn ($one): bool => $one->isPublic() && (!method_exists($one, 'isStatic') || $one->isStatic()));
        return [
            ...array_map(static fn ($c): string => $c->getName(), $public($about->getReflectionConstants())),
            ...array_map(static fn ($m): string => $m->getName() . '(', $public($about->getMethods())),
            ...array_map(static fn ($p): string => '$' . $p->getName(), $public($about->getProperties())),
            'class',
        ];
    }

    private static function classOf(mixed $value): ?string
    {
        return is_object($value) ? $value::class : null;
    }

    private static function className(string $typed, Imports $imports): string
    {
        return $imports->classAliases()[strtolower($typed)] ?? ltrim($typed, '\\');
    }

    /** @return list<string> */
    private static function keys(mixed $value, string $quote): array
    {
        return is_array($value)
            ? array_map(static fn ($key): string => "{$key}{$quote}]", array_filter(array_slice(array_keys($value), 0, 1000), is_string(...)))
            : [];
    }

    /** @return list<string> where an argument begins, the names of the parameters of what is called, as `name: ` */
    private static function namedArguments(string $line, Imports $imports): array
    {
        $callee = preg_match('/[(,]\s*\z/', $line) === 1 ? self::callee($line) : null;
        if ($callee === null) {
            return [];
        }
        $name = self::NAME;
        $chain = "\\\$({$name}(?:(?:\\?->|->){$name})*)";
        try {
            $called = match (true) {
                preg_match("/{$chain}(?:->|\\?->)({$name})\\z/", $callee, $m) === 1 => new \ReflectionMethod(self::classOf(self::resolve($m[1])) ?? '', $m[2]),
                preg_match("/([\\w\\\\\\x80-\\xff]+)::({$name})\\z/", $callee, $m) === 1 => new \ReflectionMethod(self::className($m[1], $imports), $m[2]),
                preg_match('/\bnew\s+([\w\\\\\x80-\xff]+)\z/', $callee, $m) === 1 => (new \ReflectionClass(self::className($m[1], $imports)))->getConstructor(),
                preg_match("/\\\$({$name})\\z/", $callee, $m) === 1 => ($GLOBALS[$m[1]] ?? null) instanceof \Closure ? new \ReflectionFunction($GLOBALS[$m[1]]) : null,
                preg_match('/\b(?:function|fn)\s+\S*\z/', $callee) === 1 => null,
                preg_match('/([\w\\\\\x80-\xff]+)\z/', $callee, $m) === 1 => new \ReflectionFunction($m[1]),
                default => null,
            };
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

    /** @return list<string> */
    private static function names(string $word, Imports $imports): array
    {
        $functions = get_defined_functions();
        $root = str_starts_with($word, '\\') ? '\\' : '';
        $names = [
            ...get_declared_classes(), ...get_declared_interfaces(), ...get_declared_traits(), ...self::composerClasses($word),
            ...array_map(static fn (string $f): string => "{$f}(", [...$functions['internal'], ...$functions['user']]),
            ...array_keys(get_defined_constants()),
        ];
        $names = array_filter($names, static fn (string $n): bool => !str_starts_with($n, 'Latchkey\\Scriptify\\Terminal\\'));
        return $root !== ''
            ? array_map(static fn (string $n): string => $root . $n, $names)
            : [...$names, ...self::KEYWORDS, ...array_map(static fn (string $a): string => ucfirst($a), array_keys($imports->classAliases()))];
    }

    /** @return list<string> classes that Composer could load: its class map, and the files of the PSR-4 folder in question */
    private static function composerClasses(string $word): array
    {
        $word = ltrim($word, '\\');
        $found = [];
        foreach (spl_autoload_functions() as $loader) {
            if (!is_array($loader) || !is_object($loader[0]) || !method_exists($loader[0], 'getPrefixesPsr4')) {
                continue;
            }
            $found = [...$found, ...array_keys($loader[0]->getClassMap())];
            foreach ($loader[0]->getPrefixesPsr4() as $prefix => $folders) {
                $found = [...$found, $prefix, ...self::classesUnder((string) $prefix, $folders, $word)];
            }
        }
        return $found;
    }

    /**
     * @param array<string> $folders
     * @return list<string>
     */
    private static function classesUnder(string $prefix, array $folders, string $word): array
    {
        if (stripos($word, $prefix) !== 0) {
            return [];
        }
        $cut = strrpos($word, '\\');
        $below = str_replace('\\', '/', substr($word, strlen($prefix), max(0, (int) $cut + 1 - strlen($prefix))));
        $found = [];
        foreach ($folders as $folder) {
            foreach (@scandir("{$folder}/{$below}") ?: [] as $entry) {
                if (preg_match('/\A([A-Za-z_]\w*)(\.php)?\z/', $entry, $m) === 1) {
                    $found[] = $prefix . str_replace('/', '\\', $below) . $m[1] . (isset($m[2]) ? '' : '\\');
                }
            }
        }
        return $found;
    }
}
