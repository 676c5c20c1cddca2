<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

use Latchkey\Scriptify\Run\CliError;
use Latchkey\Scriptify\Run\ErrorText;
use Latchkey\Scriptify\Run\ExitWatcher;

/** A script, which this process evaluates as a whole. */
final class Script
{
    /** @var array{rootdir: string, cwd: string, autoloader?: string, preload?: string, prints: bool, colors: bool} */
    private static array $setup;
    private static string $shows = 'nothing';

    /**
     * Reads the script, and enters the project's folder.
     *
     * @param list<string> $argv
     */
    public static function prepare(array $argv): void
    {
        self::$setup = json_decode($argv[1], true, 8, JSON_THROW_ON_ERROR);
        Renderer::$colors = self::$setup['colors'];
        CodeStream::register();
        ExitWatcher::watch('the script began');
        set_error_handler(Failure::warn(...));
        $script = preg_replace('/\A\xef\xbb\xbf/', '', $argv[2] ?? (string) stream_get_contents(STDIN));
        if (preg_match('//u', $script) !== 1) {
            ExitWatcher::exit(CliError::USAGE, 'The script is not UTF-8, and was not run; iconv converts it');
        }
        $code = Tokens::ofScript($script);
        if (self::$setup['prints']) {
            ['code' => $code, 'shows' => self::$shows] = LastExpression::withReturn($code);
        }
        chdir(self::$setup['cwd']);
        CodeStream::hold(Tokens::ended($code));
        chdir(self::$setup['rootdir']);
    }

    /** @return iterable<string> the files to include before the script */
    public static function files(): iterable
    {
        foreach (['autoloader', 'preload'] as $kind) {
            $file = self::$setup[$kind] ?? null;
            if ($file !== null) {
                ExitWatcher::forbidExit("The {$kind} {$file}");
                yield $file;
            }
        }
        ExitWatcher::permitExit();
        chdir(self::$setup['cwd']);
    }

    public static function show(mixed $value): void
    {
        if (self::$shows === 'value' || (self::$shows === 'non-null' && $value !== null)) {
            // Its colours are those of the renderer; a name in it may be from elsewhere.
            $parts = preg_split('/(\e\[(?:1|4|22|24|3\d|9\d)m)/', Renderer::render($value), -1, PREG_SPLIT_DELIM_CAPTURE);
            foreach ($parts as $index => $part) {
                echo $index % 2 === 0 ? ErrorText::printable($part) : $part;
            }
            echo "\n";
        }
    }

    /** Ends the process by an exception; throws it where the script has a handler, which php then calls. */
    public static function fail(\Throwable $error): never
    {
        $handler = set_exception_handler(null);
        restore_exception_handler();
        if ($handler !== null) {
            throw $error;
        }
        ExitWatcher::exit(CliError::FAILED, Failure::describe($error));
    }
}
