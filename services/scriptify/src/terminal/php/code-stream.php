<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Lets PHP read the code of a statement from a file of this name, which its messages show. */
final class CodeStream
{
    public const NAME = 'php-shell://code';

    /** @var resource|null set by PHP */
    public $context;
    private static string $code = '';
    private int $position = 0;

    public static function register(): void
    {
        stream_wrapper_register('php-shell', self::class);
    }

    public static function hold(string $code): void
    {
        self::$code = Tokens::inWorkingFolder("<?php {$code}");
    }

    public function stream_open(string $path): bool
    {
        return $path === self::NAME;
    }

    public function stream_read(int $count): string
    {
        $read = substr(self::$code, $this->position, $count);
        $this->position += strlen($read);
        return $read;
    }

    public function stream_eof(): bool
    {
        return $this->position >= strlen(self::$code);
    }

    /** @return array<string, int> */
    public function stream_stat(): array
    {
        return ['size' => strlen(self::$code)];
    }

    public function stream_set_option(): bool
    {
        return false;
    }

    /** Says that no other file exists, such as one that an include without a path looks for beside the code. */
    public function url_stat(): false
    {
        return false;
    }
}
