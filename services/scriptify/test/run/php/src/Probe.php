<?php

namespace App;

/** The class that the tests call; src/probe.ts is the same in TypeScript. */
class Probe
{
    public function __construct()
    {
        fwrite(STDERR, getenv('SHOW_CONSTRUCTOR') ? "constructed\n" : '');
    }

    public function hex(string ...$values): void
    {
        foreach ($values as $value) {
            echo bin2hex($value), "\n";
        }
    }

    public static function still(): void
    {
        echo "static\n";
    }

    /**
     * Adds two numbers.
     *
     * Slowly.
     */
    public function add(string $one, string $two = '2'): string
    {
        return (string) ($one + $two);
    }

    public function describe(mixed $value): string
    {
        return json_encode($value);
    }

    public function env(string $name): void
    {
        echo getenv($name) === false ? 'unset' : getenv($name), "\n";
    }

    public function forever(): void
    {
        while (true);
    }

    public function where(): void
    {
        echo getcwd(), ' ', getmypid(), "\n";
    }

    public function boom(): void
    {
        throw new \RuntimeException('boom');
    }

    public function ramble(): void
    {
        throw new \RuntimeException("first\n  second\r\n\nthird\n");
    }

    public function circle(): array
    {
        $circle = [];
        $circle['self'] = &$circle;
        return $circle;
    }

    public function leave(string $code): void
    {
        exit((int) $code);
    }

    public function fill(): void
    {
        $all = [];
        while (true) {
            $all[] = str_repeat('x', 1_000_000);
        }
    }

    public function dieBy(string $signal): void
    {
        posix_kill(getmypid(), (int) $signal);
        sleep(10);
    }

    public function pour(): void
    {
        while (true) {
            echo "drop\n";
        }
    }

    public function drink(): void
    {
        for ($bytes = 0; ($line = fgets(STDIN)) !== false;) {
            $bytes += strlen($line);
        }
        echo $bytes, "\n";
    }

    /** Writes as Monolog does, and not by echo. */
    public function fillPipe(): void
    {
        for ($line = 0; $line < 200_000; $line++) {
            fwrite(STDOUT, "line {$line}\n");
        }
    }

    /** Tells where in a call it is; the file makes it go on. */
    public function work(string $file): void
    {
        echo "begin\n";
        while (!file_exists($file)) {
            usleep(20_000);
            clearstatcache();
        }
        echo "end\n";
    }

    /** Fails once, then works. */
    public function stumble(): void
    {
        static $calls = 0;
        if (++$calls === 1) {
            throw new \RuntimeException('first');
        }
        echo "call {$calls}\n";
    }

    private function hidden(): void
    {
    }

    protected function guarded(): void
    {
    }

    public function __call(string $name, array $values): void
    {
        echo "magic\n";
    }
}
