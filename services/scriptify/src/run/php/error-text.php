<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** An error in words. */
final class ErrorText
{
    private const MAX_ERRORS = 10;
    private const MAX_FRAMES = 30;

    /** Text from elsewhere as a terminal may show it, as printableLines() does it in TypeScript. */
    public static function printable(string $text): string
    {
        $escape = static fn (array $found): string => strlen($found[0]) > 1
            ? trim((string) json_encode($found[0]), '"')
            : sprintf($found[0] < ' ' ? '\\x%02x' : '\\u%04x', ord($found[0]));
        return preg_replace_callback('/(?![\t\n\x{200c}\x{200d}]|\r\n)[\p{Cc}\p{Cf}\x{2028}\x{2029}]/u', $escape, $text)
            ?? (string) preg_replace_callback('/[^\t\n -~]/', static fn (array $byte): string => sprintf('\\x%02x', ord($byte[0])), $text);
    }

    /**
     * Gives one line, `RuntimeException: message (src/Job.php:12), caused by: …`; with a trace each error with the frames of
     * the project. The arguments of a frame may be secrets, so it has none.
     */
    public static function describe(\Throwable $error, CallerOptions $options): string
    {
        if ($error instanceof CliError) {
            return $error->getMessage();
        }
        $texts = [];
        for ($each = $error; $each !== null && count($texts) < self::MAX_ERRORS; $each = $each->getPrevious()) {
            $texts[] = $options->traces ? self::withFrames($each) : self::headline($each);
        }
        if ($each !== null) {
            $texts[] = '…';
        }
        if ($options->traces) {
            return implode("\n  caused by ", $texts);
        }
        $line = array_shift($texts) . ($texts === [] ? '' : ', caused by: ' . implode('; ', $texts));
        return $options->task === 'call' ? "{$line} (more: --trace)" : $line;
    }

    private static function headline(\Throwable $error): string
    {
        $message = preg_replace('/\s*\n\s*/', ' ', trim($error->getMessage()));
        return get_debug_type($error) . ": {$message} (" . self::place($error->getFile(), $error->getLine()) . ')';
    }

    private static function withFrames(\Throwable $error): string
    {
        $lines = [];
        [$file, $line] = [$error->getFile(), $error->getLine()];
        // Each entry names a function and the place that called it.
        foreach ($error->getTrace() as $call) {
            $function = preg_replace('/\0.*?(?=->|::|$)/s', '', ($call['class'] ?? '') . ($call['type'] ?? '') . $call['function']);
            // php's own functions have no place, and scriptify's are not of the project.
            if ($file !== null && !str_starts_with($file, __DIR__ . '/') && count($lines) < self::MAX_FRAMES) {
                $lines[] = "    at {$function} (" . self::place($file, $line) . ')';
            }
            [$file, $line] = [$call['file'] ?? null, $call['line'] ?? 0];
        }
        return implode("\n", [self::headline($error), ...$lines]);
    }

    private static function place(string $file, int $line): string
    {
        return str_replace(getcwd() . '/', '', $file) . ":{$line}";
    }
}
