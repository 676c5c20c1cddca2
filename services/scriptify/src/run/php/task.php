<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** Calls, checks or documents a method, and ends the process. */
final class Task
{
    private static CallerOptions $options;

    /** Prepares the process; the program then includes the files. */
    public static function prepare(CallerOptions $options): void
    {
        self::$options = $options;
        ExitWatcher::watch('the method was called');
        self::enterFolder($options->rootdir);
    }

    /** @return iterable<string, string> the files to include, each by what it is */
    public static function files(): iterable
    {
        foreach (array_filter(['bootstrap' => self::$options->bootstrap, 'file' => self::$options->module]) as $kind => $file) {
            if (!is_file($file)) {
                ExitWatcher::exit(CliError::NOT_FOUND, "The {$kind} {$file} does not exist");
            }
            if (!is_readable($file)) {
                ExitWatcher::exit(CliError::NOT_PERMITTED, "The {$kind} {$file} may not be read by this user");
            }
            ExitWatcher::forbidExit("The {$kind} {$file}");
            yield "{$kind} {$file}" => $file;
        }
    }

    public static function failed(string $what, \Throwable $error): never
    {
        ExitWatcher::exit(CliError::FAILED, "The {$what} failed: " . ErrorText::describe($error, self::$options));
    }

    public static function run(): never
    {
        ExitWatcher::forbidExit('Loading the class ' . self::$options->class);
        try {
            self::findAndRun();
            ExitWatcher::exit(0);
        } catch (\Throwable $error) {
            ExitWatcher::exit($error instanceof CliError ? $error->getCode() : CliError::FAILED, ErrorText::describe($error, self::$options));
        }
    }

    private static function findAndRun(): void
    {
        $options = self::$options;
        if ($options->task === 'methods') {
            echo ErrorText::printable(Docs::ofMethods(Target::methodsOf($options->class), $options->text));
            return;
        }
        $target = Target::find($options->class, $options->method);
        if ($options->task === 'docs') {
            echo ErrorText::printable(Docs::of($target->method, $options->text));
            return;
        }
        $target->requireCallable(count($options->arguments));
        $arguments = self::arguments($target->method);
        if ($options->task === 'check') {
            return;
        }
        // The method itself may end the process.
        ExitWatcher::permitExit();
        self::call($target->callable(), $arguments);
    }

    private static function enterFolder(string $rootdir): void
    {
        if (@chdir($rootdir)) {
            return;
        }
        // is_dir() does not tell a missing folder from one below a folder that may not be entered.
        if (str_contains(error_get_last()['message'] ?? '', 'Permission denied')) {
            ExitWatcher::exit(CliError::NOT_PERMITTED, "The root directory {$rootdir} may not be entered by this user");
        }
        ExitWatcher::exit(CliError::NOT_FOUND, "The root directory {$rootdir} does not exist");
    }

    /** @return list<mixed> */
    private static function arguments(\ReflectionMethod $method): array
    {
        $parameters = $method->getParameters();
        $arguments = [];
        foreach (self::$options->arguments as $index => $text) {
            $value = in_array($index, self::$options->json, true) ? self::decode($text, $index + 1) : $text;
            $arguments[] = Argument::convert($value, $parameters[min($index, count($parameters) - 1)], $index + 1);
        }
        return $arguments;
    }

    private static function decode(string $text, int $number): mixed
    {
        try {
            return Argument::decodeJson($text, false);
        } catch (\JsonException $error) {
            throw new CliError("Argument {$number} is not JSON: {$error->getMessage()}", CliError::USAGE);
        }
    }

    /** @param list<mixed> $arguments */
    private static function call(callable $callable, array $arguments): void
    {
        $interval = self::$options->interval;
        if ($interval === null) {
            self::callOnce($callable, $arguments);
            return;
        }
        Daemon::repeat(static fn () => self::callOnce($callable, $arguments), $interval);
    }

    /** @param list<mixed> $arguments */
    private static function callOnce(callable $callable, array $arguments): void
    {
        $result = $callable(...$arguments);
        // Nothing of a generator runs until its values are asked for.
        foreach ($result instanceof \Generator ? $result : [$result] as $value) {
            if (self::$options->prints) {
                echo self::toJson($value), "\n";
            }
        }
    }

    /** php would write a date as an object with its time zone. The depth is less than what JSON may have: data may hold itself. */
    private static function withDates(mixed $value, int $depth = 0): mixed
    {
        if ($value instanceof \DateTimeInterface) {
            return $value->format(\DateTimeInterface::RFC3339_EXTENDED);
        }
        return is_array($value) && $depth < 32
            ? array_map(static fn (mixed $each): mixed => self::withDates($each, $depth + 1), $value)
            : $value;
    }

    private static function toJson(mixed $result): string
    {
        try {
            $flags = JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION;
            return json_encode(self::withDates($result), $flags | JSON_THROW_ON_ERROR);
        } catch (\JsonException $error) {
            $method = self::$options->class . '::' . self::$options->method;
            throw new CliError("The result of {$method} cannot be written as JSON: {$error->getMessage()}", CliError::FAILED);
        }
    }
}
