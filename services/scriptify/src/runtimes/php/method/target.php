<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Method;

/** The method that is to be called. */
final class Target
{
    private function __construct(
        public readonly \ReflectionMethod $method,
        /** @var \ReflectionClass<object> */
        public readonly \ReflectionClass $class,
    ) {
    }

    /** Finds it; the autoloader runs, the constructor does not. */
    public static function find(string $class, string $method): self
    {
        if (!class_exists($class) && !enum_exists($class) && !interface_exists($class) && !trait_exists($class)) {
            throw new Refusal("There is no class {$class}", Refusal::NOT_FOUND);
        }
        $reflection = new \ReflectionClass($class);
        $name = $reflection->getName();
        if (str_starts_with($method, '__')) {
            throw new Refusal("{$name}::{$method} cannot be called: it is one of php's own methods", Refusal::NOT_FOUND);
        }
        if (!$reflection->hasMethod($method)) {
            throw new Refusal("The class {$name} has no method {$method}", Refusal::NOT_FOUND);
        }
        $found = $reflection->getMethod($method);
        if (!$found->isPublic()) {
            throw new Refusal("The method {$name}::{$method} is not public", Refusal::NOT_FOUND);
        }
        return new self($found, $reflection);
    }

    /** Refuses what could not be called; constructs nothing. */
    public function demandCallable(int $arguments, bool $loose): void
    {
        $name = $this->name();
        if ($this->method->isAbstract()) {
            throw new Refusal("{$name} is abstract", Refusal::USAGE);
        }
        if (!$this->method->isStatic()) {
            $this->demandConstructible();
        }
        $least = $this->method->getNumberOfRequiredParameters();
        $most = $this->method->isVariadic() || $loose ? PHP_INT_MAX : $this->method->getNumberOfParameters();
        if ($arguments < $least || $arguments > $most) {
            $takes = match (true) {
                $most === PHP_INT_MAX => "at least {$least}",
                $least === $most => (string) $least,
                default => "{$least} to {$most}",
            };
            $noun = $takes === '1' || $takes === 'at least 1' ? 'argument' : 'arguments';
            $parameters = $this->method->getNumberOfParameters() > 0 ? ': ' . Docs::parameters($this->method) : '';
            throw new Refusal("{$name} takes {$takes} {$noun}, not {$arguments}{$parameters}", Refusal::USAGE);
        }
    }

    /** @return callable-string|array{object|string, string} */
    public function callable(): array
    {
        $method = $this->method->getName();
        return $this->method->isStatic()
            ? [$this->class->getName(), $method]
            : [$this->class->newInstance(), $method];
    }

    public function name(): string
    {
        return $this->class->getName() . '::' . $this->method->getName();
    }

    private function demandConstructible(): void
    {
        $class = $this->class->getName();
        if (!$this->class->isInstantiable()) {
            throw new Refusal("{$class} cannot be constructed, and {$this->method->getName()} is not static", Refusal::USAGE);
        }
        $constructor = $this->class->getConstructor();
        if ($constructor !== null && $constructor->getNumberOfRequiredParameters() > 0) {
            $parameters = implode(', ', array_map(Docs::parameter(...), $constructor->getParameters()));
            throw new Refusal("{$class} cannot be constructed without arguments: it wants {$parameters}", Refusal::USAGE);
        }
    }
}
