<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/**
 * Writes any value as text, bounded in depth, items, string length and total size. Of the value it runs an overridden
 * getArrayCopy() and the constructors of default values only.
 */
final class Renderer
{
    private const MAX_DEPTH = 4;
    private const MAX_ITEMS = 100;
    private const MAX_STRING = 2000;
    private const MAX_TOTAL = 65536;

    /** True where values are written in colours, those of Node's util.inspect. */
    public static bool $colors = false;

    private int $written = 0;

    /** @var array<int, true> objects on the way to the current value, so that a cycle ends */
    private array $path = [];

    public static function render(mixed $value): string
    {
        return (new self())->value($value, 0);
    }

    private function value(mixed $value, int $depth): string
    {
        if ($this->written > self::MAX_TOTAL) {
            return '…';
        }
        $text = match (true) {
            is_string($value) => self::string($value),
            is_array($value) => $this->items($value, $depth),
            $value instanceof \UnitEnum => $value::class . '::' . $value->name,
            $value instanceof \Closure => self::closure($value),
            is_object($value) => $this->object($value, $depth),
            is_resource($value) => get_resource_type($value) . ' resource #' . get_resource_id($value),
            is_float($value) => var_export($value, true),
            $value === null => 'null',
            is_bool($value) => $value ? 'true' : 'false',
            is_int($value) => (string) $value,
            default => get_debug_type($value),
        };
        if (!is_array($value) && !is_object($value)) {
            $this->written += strlen($text);
        }
        return self::color($value, $text);
    }

    private static function color(mixed $value, string $text): string
    {
        $codes = match (true) {
            !self::$colors => null,
            is_string($value) => [32, 39],
            is_int($value), is_float($value), is_bool($value) => [33, 39],
            $value === null => [1, 22],
            $value instanceof \DateTimeInterface => [35, 39],
            $value instanceof \Closure, $value instanceof \UnitEnum => [36, 39],
            default => null,
        };
        return $codes === null ? $text : "\e[{$codes[0]}m{$text}\e[{$codes[1]}m";
    }

    public static function string(string $value): string
    {
        $length = strlen($value);
        $head = substr($value, 0, self::MAX_STRING * 4);
        if (strlen($head) < $length) {
            $head = (string) preg_replace('/[\xC0-\xFF][\x80-\xBF]*\z/', '', $head); // a character cut in two
        }
        if (preg_match('/\A.{0,' . self::MAX_STRING . '}/su', $head, $match) !== 1) {
            return $length === 16 ? 'uuid ' . self::uuid($value) : self::binary($value, $length);
        }
        $named = ['\\' => '\\\\', '"' => '\\"', '$' => '\\$', "\n" => '\\n', "\r" => '\\r', "\t" => '\\t', "\e" => '\\e'];
        $text = self::escape(strtr($match[0], $named));
        return "\"{$text}\"" . (strlen($match[0]) < $length ? "… ({$length} bytes)" : '');
    }

    /** Control characters, invisible ones and those that change the order of others, by their bytes. */
    public static function escape(string $text): string
    {
        $bytes = static fn (array $found): string => '\\x' . implode('\\x', str_split(strtoupper(bin2hex($found[0])), 2));
        return preg_replace_callback('/(?![\x{200c}\x{200d}])[\p{Cc}\p{Cf}\x{2028}\x{2029}]/u', $bytes, $text)
            ?? (string) preg_replace_callback('/[^ -~]/', $bytes, $text);
    }

    public static function uuid(string $bytes): string
    {
        return implode('-', sscanf(bin2hex($bytes), '%8s%4s%4s%4s%12s') ?: []);
    }

    private static function binary(string $value, int $length): string
    {
        $shown = bin2hex(substr($value, 0, 64));
        return "binary({$length}) 0x{$shown}" . ($length > 64 ? '…' : '');
    }

    private static function closure(\Closure $value): string
    {
        $function = new \ReflectionFunction($value);
        $parameters = implode(', ', array_map(self::parameter(...), $function->getParameters()));
        $returns = $function->getReturnType();
        return "Closure({$parameters})" . ($returns === null ? '' : ": {$returns}");
    }

    public static function parameter(\ReflectionParameter $parameter): string
    {
        $type = $parameter->getType();
        return ($type === null ? '' : "{$type} ")
            . ($parameter->isPassedByReference() ? '&' : '')
            . ($parameter->isVariadic() ? '...' : '')
            . '$' . $parameter->getName()
            . ($parameter->isOptional() && !$parameter->isVariadic() ? self::defaultOf($parameter) : '');
    }

    private static function defaultOf(\ReflectionParameter $parameter): string
    {
        if (!$parameter->isDefaultValueAvailable()) {
            return ' = ?';
        }
        $constant = $parameter->isDefaultValueConstant() ? $parameter->getDefaultValueConstantName() : null;
        return ' = ' . ($constant ?? str_replace("\n", '', var_export($parameter->getDefaultValue(), true)));
    }

    /** @param array<mixed> $items */
    private function items(array $items, int $depth): string
    {
        $count = count($items);
        if ($count === 0) {
            return '[]';
        }
        if ($depth >= self::MAX_DEPTH) {
            return "[… {$count}]";
        }
        $isList = self::looksLikeList($items, $count);
        $lines = [];
        foreach ($items as $key => $item) {
            if (count($lines) >= self::MAX_ITEMS || $this->written > self::MAX_TOTAL) {
                $lines[] = '… ' . ($count - count($lines)) . ' more';
                break;
            }
            $lines[] = ($isList ? '' : (is_int($key) ? $key : self::string($key)) . ' => ') . $this->value($item, $depth + 1) . ',';
        }
        return "[\n" . self::indent($lines) . "\n]";
    }

    /** array_is_list walks the whole array; a very long one is decided by its ends. */
    private static function looksLikeList(array $items, int $count): bool
    {
        return $count < 100_000 ? array_is_list($items) : array_key_first($items) === 0 && array_key_last($items) === $count - 1;
    }

    private function object(object $value, int $depth): string
    {
        $id = spl_object_id($value);
        $head = self::className($value) . " {#{$id}";
        if ($value instanceof \DateTimeInterface) {
            return "{$head} " . $value->format('Y-m-d H:i:s.u P') . '}';
        }
        if (isset($this->path[$id]) || $depth >= self::MAX_DEPTH) {
            return "{$head} …}";
        }
        $this->path[$id] = true;
        try {
            return $this->properties($value, $head, $depth);
        } finally {
            unset($this->path[$id]);
        }
    }

    private function properties(object $value, string $head, int $depth): string
    {
        $lines = [];
        $properties = get_mangled_object_vars($value);
        if ($value instanceof \ArrayObject || $value instanceof \ArrayIterator) {
            $properties = ['storage' => $value->getArrayCopy()];
        }
        foreach ($properties as $mangled => $property) {
            if (count($lines) >= self::MAX_ITEMS || $this->written > self::MAX_TOTAL) {
                $lines[] = '… ' . (count($properties) - count($lines)) . ' more';
                break;
            }
            $lines[] = self::propertyName((string) $mangled) . ': ' . $this->value($property, $depth + 1) . ',';
        }
        return $lines === [] ? "{$head}}" : "{$head}\n" . self::indent($lines) . "\n}";
    }

    private static function propertyName(string $mangled): string
    {
        if ($mangled === '' || $mangled[0] !== "\0") {
            return "+{$mangled}";
        }
        return ($mangled[1] === '*' ? '#' : '-') . substr((string) strrchr($mangled, "\0"), 1);
    }

    private static function className(object $value): string
    {
        $class = $value::class;
        return str_contains($class, "@anonymous") ? 'class@anonymous' : $class;
    }

    /** @param list<string> $lines */
    private static function indent(array $lines): string
    {
        return '  ' . str_replace("\n", "\n  ", implode("\n", $lines));
    }
}
