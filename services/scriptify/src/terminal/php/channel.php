<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** One JSON object per line, both ways, on the socket that the terminal opened. */
final class Channel
{
    /** A signal may interrupt a write a few times; once the terminal has ended, each write fails. */
    private const MAX_FAILURES = 10;

    /** @var resource */
    private $stream;

    public function __construct(string $path)
    {
        $stream = @fopen($path, 'r+');
        if ($stream === false) {
            fwrite(STDERR, "This program is started by `scriptify terminal`\n");
            exit(2);
        }
        $this->stream = $stream;
    }

    /** @return array{id: int, type: string, ...}|null null when the terminal has ended */
    public function read(): ?array
    {
        $line = '';
        do {
            $part = fgets($this->stream); // false without an end of file: a signal arrived
            $line .= $part === false ? '' : $part;
        } while (!str_ends_with($line, "\n") && !feof($this->stream));
        $message = json_decode($line, true);
        return is_array($message) ? $message : null;
    }

    /** @param array<string, mixed> $message */
    public function write(array $message): void
    {
        $text = json_encode($message, JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_UNICODE | JSON_PARTIAL_OUTPUT_ON_ERROR) . "\n";
        for ($failures = 0; $text !== '' && $failures < self::MAX_FAILURES;) {
            $sent = @fwrite($this->stream, $text);
            $failures += $sent === false ? 1 : 0;
            $text = substr($text, (int) $sent);
        }
    }
}
