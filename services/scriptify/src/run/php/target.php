<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** The method that a reference names. */
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
        $reflection = self::reflect($class);
        $name = $reflection->getName();
        if (str_starts_with($method, '__')) {
            throw new CliError("{$name}::{$method} cannot be called: it is one of php's own methods", CliError::NOT_FOUND);
        }
        if (!$reflection->hasMethod($method)) {
            $names = array_map(static fn (\ReflectionMethod $one): string => $one->getName(), self::methodsOf($class));
            throw new CliError("The class {$name} has no method {$method}" . ClosestName::didYouMean($method, $names), CliError::NOT_FOUND);
        }
        $found = $reflection->getMethod($method);
        if (!$found->isPublic()) {
            throw new CliError("The method {$name}::{$method} is not public", CliError::NOT_FOUND);
        }
        return new self($found, $reflection);
    }

    /** @return list<\ReflectionMethod> the methods that can be called */
    public static function methodsOf(string $class): array
    {
        return array_values(array_filter(
            self::reflect($class)->getMethods(\ReflectionMethod::IS_PUBLIC),
            static fn (\ReflectionMethod $method): bool => !str_starts_with($method->getName(), '__') && !$method->isAbstract(),
        ));
    }

    /** @return \ReflectionClass<object> */
    private static function reflect(string $class): \ReflectionClass
    {
        if (class_exists($class) || enum_exists($class) || interface_exists($class) || trait_exists($class)) {
            return new \ReflectionClass($class);
        }
        throw new CliError("Class {$class} does not exist" . ClosestName::didYouMeanClass($class), CliError::NOT_FOUND);
    }

    /** Throws a CliError for a method that could not be called with this many arguments; constructs nothing. */
    public function requireCallable(int $arguments): void
    {
        if ($this->method->isAbstract()) {
            throw new CliError("{$this->name()} is abstract", CliError::USAGE);
        }
        if (!$this->method->isStatic()) {
            $this->requireConstructible();
        }
        $this->requireArgumentCount($arguments);
    }

    /** @return array{object|string, string} */
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

    private function requireArgumentCount(int $count): void
    {
        $least = $this->method->getNumberOfRequiredParameters();
        $most = $this->method->isVariadic() ? PHP_INT_MAX : $this->method->getNumberOfParameters();
        if ($count >= $least && $count <= $most) {
            return;
        }
        $takes = match (true) {
            $most === PHP_INT_MAX => "at least {$least}",
            $least === $most => (string) $least,
            default => "{$least} to {$most}",
        };
        $noun = $takes === '1' || $takes === 'at least 1' ? 'argument' : 'arguments';
        $parameters = $this->method->getNumberOfParameters() > 0 ? ': ' . Docs::parameters($this->method) : '';
        throw new CliError("{$this->name()} takes {$takes} {$noun}, not {$count}{$parameters}", CliError::USAGE);
    }

    private function requireConstructible(): void
    {
        $class = $this->class->getName();
        if (!$this->class->isInstantiable()) {
            throw new CliError("{$class} cannot be constructed, and {$this->method->getName()} is not static", CliError::USAGE);
        }
        $constructor = $this->class->getConstructor();
        if ($constructor !== null && $constructor->getNumberOfRequiredParameters() > 0) {
            $parameters = implode(', ', array_map(Docs::parameter(...), $constructor->getParameters()));
            throw new CliError("{$class} cannot be constructed without arguments: it requires {$parameters}", CliError::USAGE);
        }
    }
}
