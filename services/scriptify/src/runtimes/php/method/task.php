<?php

// Weak mode on purpose: arguments are texts, and "5" is to satisfy int.
declare(strict_types=0);

namespace Latchkey\Scriptify\Method;

/** Carries out the orders, step by step. */
final class Caller
{
    private static Orders $orders;

    public static function obey(Orders $orders): void
    {
        self::$orders = $orders;
        Ending::watch();
        if (!@chdir((string) $orders->get('rootdir'))) {
            $what = is_dir((string) $orders->get('rootdir')) ? 'may not be entered by this user' : 'does not exist';
            Ending::with(Refusal::NOT_FOUND, "The root directory {$orders->get('rootdir')} {$what}");
        }
        $bootstrap = $orders->get('bootstrap');
        if ($bootstrap !== null && !is_readable($bootstrap)) {
            $what = is_file($bootstrap) ? 'cannot be read' : 'does not exist';
            Ending::with(Refusal::NOT_FOUND, "The bootstrap {$bootstrap} {$what}");
        }
        Ending::during("The bootstrap {$bootstrap}");
    }

    public static function bootstrap(): ?string
    {
        return self::$orders->get('bootstrap');
    }

    public static function bootstrapFailed(\Throwable $error): never
    {
        Ending::with(Refusal::FAILED, 'The bootstrap ' . self::bootstrap() . ' failed: ' . Ending::describe($error));
    }

    public static function go(): never
    {
        $orders = self::$orders;
        Ending::during("Loading the class {$orders->class}");
        try {
            $target = Target::find($orders->class, $orders->method);
            if ($orders->get('task') === 'docs') {
                echo Docs::of($target->method, (string) $orders->get('as'));
                Ending::with(0);
            }
            $target->demandCallable(count($orders->arguments), $orders->has('loose'));
            $arguments = self::arguments();
            if ($orders->get('task') === 'check') {
                Ending::with(0);
            }
            // What the method itself wants by exit() is its own business.
            Ending::during(null);
            self::call($target->callable(), $arguments);
            Ending::with(0);
        } catch (Refusal $refusal) {
            Ending::with($refusal->getCode(), $refusal->getMessage());
        } catch (\Throwable $error) {
            Ending::with(Refusal::FAILED, Ending::describe($error));
        }
    }

    /** @return list<mixed> */
    private static function arguments(): array
    {
        $arguments = self::$orders->arguments;
        foreach (self::$orders->json as $place) {
            try {
                $arguments[$place] = json_decode($arguments[$place], true, 512, JSON_THROW_ON_ERROR);
            } catch (\JsonException $error) {
                throw new Refusal('Argument ' . ($place + 1) . " is not JSON: {$error->getMessage()}", Refusal::USAGE);
            }
        }
        return $arguments;
    }

    /** @param list<mixed> $arguments */
    private static function call(callable $callable, array $arguments): void
    {
        $interval = self::$orders->get('daemon');
        if ($interval === null) {
            self::callOnce($callable, $arguments);
            return;
        }
        Pauses::watchSignals();
        while (!Pauses::isEnding()) {
            try {
                self::callOnce($callable, $arguments);
            } catch (\Throwable $error) {
                if (!self::$orders->has('keep-going')) {
                    throw $error;
                }
                fwrite(STDERR, Ending::describe($error) . "\n");
            }
            Pauses::take((float) $interval);
        }
    }

    /** @param list<mixed> $arguments */
    private static function callOnce(callable $callable, array $arguments): void
    {
        $result = $callable(...$arguments);
        if (self::$orders->has('print')) {
            echo self::toJson($result), "\n";
        }
    }

    private static function toJson(mixed $result): string
    {
        try {
            return json_encode($result, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_INVALID_UTF8_SUBSTITUTE | JSON_PRESERVE_ZERO_FRACTION);
        } catch (\JsonException $error) {
            $method = self::$orders->class . '::' . self::$orders->method;
            throw new Refusal("The result of {$method} cannot be written as JSON: {$error->getMessage()}", Refusal::FAILED);
        }
    }
}
