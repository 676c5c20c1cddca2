<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** An error in words. */
final class ErrorText
{
    /** Text from elsewhere as a terminal may show it, as printableLines() does it in TypeScript. */
    public static function printable(string $text): string
    {
        $escape = static fn (array $found): string => strlen($found[0]) > 1
            ? trim((string) json_encode($found[0]), '"')
            : sprintf($found[0] < ' ' ? '\\x%02x' : '\\u%04x', ord($found[0]));
        return preg_replace_callback('/(?![\t\n\x{200c}\x{200d}]|\r\n)[\p{Cc}\p{Cf}\x{2028}\x{2029}]/u', $escape, $text)
            ?? (string) preg_replace_callback('/[^\t\n -~]/', static fn (array $byte): string => sprintf('\\x%02x', ord($byte[0])), $text);
    }

    /** Gives one line, `RuntimeException: message (src/Job.php:12)`; with SCRIPTIFY_DEBUG all that php knows. */
    public static function describe(\Throwable $error): string
    {
        if ($error instanceof CliError) {
            return $error->getMessage();
        }
        if (getenv('SCRIPTIFY_DEBUG')) {
            return (string) $error;
        }
        $message = preg_replace('/\s*\n\s*/', ' ', trim($error->getMessage()));
        $file = str_replace(getcwd() . '/', '', $error->getFile());
        return get_debug_type($error) . ": {$message} ({$file}:{$error->getLine()})";
    }
}
