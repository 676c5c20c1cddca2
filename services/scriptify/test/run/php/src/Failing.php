<?php

namespace App;

/** Fails in the ways that a program fails; src/failing.ts is the same in TypeScript. */
class Failing
{
    public function caused(): void
    {
        try {
            self::refuse('s3cret-password');
        } catch (\Throwable $cause) {
            throw new \RuntimeException('could not send report', 0, $cause);
        }
    }

    public function nested(): void
    {
        try {
            $this->caused();
        } catch (\Throwable $cause) {
            throw new JobFailed('the nightly job', 0, $cause);
        }
    }

    public function typeError(): void
    {
        strlen([]);
    }

    public function library(): void
    {
        array_map(fn () => $this->caused(), [1]);
    }

    public function endless(): void
    {
        $error = null;
        for ($depth = 0; $depth <= 5000; $depth++) {
            $error = new \RuntimeException("{$depth}", 0, $error);
        }
        throw $error;
    }

    public function deep(int $depth = 5000): void
    {
        if ($depth === 0) {
            throw new \RuntimeException('deep');
        }
        $this->deep($depth - 1);
    }

    public function fatal(): void
    {
        eval('class Twice {} class Twice {}');
    }

    private static function refuse(string $password): never
    {
        throw new \LogicException("SMTP\n    refused");
    }
}

class JobFailed extends \Exception
{
}
