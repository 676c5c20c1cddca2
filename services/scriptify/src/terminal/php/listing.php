<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** What `.ls`, `.doc` and `.show` print. */
final class Listing
{
    /**
     * @param array<string, mixed> $variables
     * @param ?string $libraries the folder whose functions are not listed
     */
    public static function variables(array $variables, ?string $libraries): string
    {
        $lines = [];
        foreach ($variables as $name => $value) {
            $lines[] = "\${$name}  " . get_debug_type($value) . (is_array($value) ? '(' . count($value) . ')' : '');
        }
        $functions = array_map(static fn (\ReflectionFunction $f): string => $f->getName() . '()', self::ownFunctions($libraries));
        $classes = array_filter(get_declared_classes(), static fn (string $c): bool => self::isTyped($c));
        return implode("\n", [...$lines, ...$functions, ...array_map(static fn (string $c): string => "class {$c}", $classes)]);
    }

    /** @return list<\ReflectionFunction> */
    private static function ownFunctions(?string $libraries): array
    {
        $functions = array_map(static fn (string $f): \ReflectionFunction => new \ReflectionFunction($f), get_defined_functions()['user']);
        return array_values(array_filter($functions, static fn (\ReflectionFunction $f): bool => $libraries === null || !str_starts_with((string) $f->getFileName(), $libraries)));
    }

    private static function isTyped(string $class): bool
    {
        $about = new \ReflectionClass($class);
        return !$about->isAnonymous() && $about->getFileName() === CodeStream::NAME;
    }

    /** Signature and comment of a function, class or method; with source, its text as well. */
    public static function describe(string $name, bool $withSource, Imports $imports): string
    {
        try {
            $about = self::reflect(rtrim(trim($name), '();'), $imports);
        } catch (\ReflectionException $error) {
            return $error->getMessage();
        }
        $signature = $about instanceof \ReflectionClass ? self::ofClass($about) : self::ofFunction($about);
        $comment = preg_replace('/^\s+\*/m', ' *', (string) $about->getDocComment());
        return trim("{$comment}\n{$signature}" . ($withSource ? "\n" . self::source($about) : ''));
    }

    private static function reflect(string $name, Imports $imports): \ReflectionClass|\ReflectionFunctionAbstract
    {
        if (preg_match('/\A\$(\w+)(?:->(\w+))?\z/', $name, $m) === 1) {
            $value = $GLOBALS[$m[1]] ?? throw new \ReflectionException("\${$m[1]} is not set");
            if ($value instanceof \Closure) {
                return new \ReflectionFunction($value);
            }
            $value = is_object($value) ? $value : throw new \ReflectionException("\${$m[1]} is not an object");
            return isset($m[2]) ? new \ReflectionMethod($value, $m[2]) : new \ReflectionClass($value);
        }
        [$class, $method] = explode('::', $name, 2) + [1 => null];
        $class = $imports->classAliases()[strtolower($class)] ?? $class;
        if ($method !== null) {
            return new \ReflectionMethod($class, $method);
        }
        return function_exists($class) ? new \ReflectionFunction($class) : new \ReflectionClass($class);
    }

    private static function ofFunction(\ReflectionFunctionAbstract $function): string
    {
        $parameters = implode(', ', array_map(Renderer::parameter(...), $function->getParameters()));
        $returns = $function->getReturnType();
        $owner = $function instanceof \ReflectionMethod ? $function->class . '::' : '';
        return "function {$owner}{$function->getName()}({$parameters})" . ($returns === null ? '' : ": {$returns}");
    }

    private static function ofClass(\ReflectionClass $class): string
    {
        $public = array_filter($class->getMethods(), static fn (\ReflectionMethod $m): bool => $m->isPublic());
        $methods = array_map(static fn (\ReflectionMethod $m): string => '  ' . self::ofFunction($m), $public);
        return implode("\n", ["class {$class->getName()}", ...$methods]);
    }

    private static function source(\ReflectionClass|\ReflectionFunctionAbstract $about): string
    {
        $file = (string) $about->getFileName();
        $lines = is_file($file) ? file($file) : false;
        if ($lines === false) {
            return '(the source is not in a file)';
        }
        return rtrim(implode('', array_slice($lines, $about->getStartLine() - 1, $about->getEndLine() - $about->getStartLine() + 1)));
    }
}
