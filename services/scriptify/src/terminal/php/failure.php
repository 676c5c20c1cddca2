<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Exceptions and warnings in words, with the lines of what was typed. */
final class Failure
{
    private const MAX_FRAMES = 8;
    private const MAX_MESSAGE = 4000;

    /** The preload file of scriptify: its frames say nothing about what was typed. */
    private const PRELOAD = '~/templates/scriptify/scriptify\.php\z~';

    public static function describe(\Throwable $error): string
    {
        if ($error instanceof Interrupted) {
            return 'Interrupted';
        }
        $text = '';
        for ($current = $error; $current !== null; $current = $current->getPrevious()) {
            $text .= ($text === '' ? '' : "\nCaused by ") . self::one($current);
        }
        return $text . self::trace($error);
    }

    public static function place(string $file, int $line): string
    {
        return $file === CodeStream::NAME
            ? "php shell code:{$line}"
            : "{$file}:{$line}";
    }

    /** Prints a warning in place of php; false leaves it to php, which ends the process by it. */
    public static function warn(int $level, string $message, string $file, int $line): bool
    {
        if ((error_reporting() & $level) === 0) {
            return true;
        }
        $name = match ($level) {
            E_WARNING, E_USER_WARNING => 'Warning',
            E_NOTICE, E_USER_NOTICE => 'Notice',
            E_DEPRECATED, E_USER_DEPRECATED => 'Deprecated',
            default => 'Error',
        };
        fwrite(STDERR, "{$name}: " . Renderer::escape($message) . ' in ' . self::place($file, $line) . "\n");
        return $level !== E_USER_ERROR;
    }

    private static function one(\Throwable $error): string
    {
        // php says where a function was called with a wrong argument, or declared before.
        $message = preg_replace('~' . CodeStream::NAME . '(?: on line |:)(?=\d)~', 'php shell code:', $error->getMessage());
        $message = substr((string) $message, 0, self::MAX_MESSAGE);
        $place = ['file' => $error->getFile(), 'line' => $error->getLine()];
        foreach ($error->getTrace() as $frame) {
            // One that fails while it is loaded is included, and has its own line.
            if (!isset($frame['file']) || preg_match(self::PRELOAD, $place['file']) !== 1 || $frame['function'] === 'include') {
                break;
            }
            $place = $frame;
        }
        return get_debug_type($error) . ": {$message}\n    at " . self::place($place['file'], (int) $place['line']);
    }

    private static function trace(\Throwable $error): string
    {
        $lines = [];
        foreach ($error->getTrace() as $frame) {
            $file = (string) ($frame['file'] ?? '');
            if (preg_match('~/(?:terminal-worker|run-script)\.php\z~', $file) === 1) {
                break; // the frames of the terminal itself follow
            }
            if (preg_match(self::PRELOAD, $file) === 1) {
                continue;
            }
            $call = ($frame['class'] ?? '') . ($frame['type'] ?? '') . $frame['function'] . '()';
            $lines[] = "    in {$call}" . ($file === '' ? '' : ' called at ' . self::place($file, (int) ($frame['line'] ?? 0)));
        }
        $hidden = count($lines) - self::MAX_FRAMES;
        $shown = array_slice($lines, 0, self::MAX_FRAMES);
        return ($shown === [] ? '' : "\n" . implode("\n", $shown)) . ($hidden > 0 ? "\n    … {$hidden} more" : '');
    }
}

/** Ctrl-C while something runs. */
final class Interrupted extends \Error
{
}
