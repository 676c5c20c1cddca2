<?php

// The program that calls a method: call-method.php <options as JSON> [argument …]

// Weak mode on purpose: arguments are strings, and "5" must be accepted for an int.
declare(strict_types=0);

foreach (['cli-error', 'closest-name', 'error-text', 'caller-options', 'exit-guard', 'target', 'docs', 'daemon', 'task'] as $_) {
    require __DIR__ . "/{$_}.php";
}
unset($_);

\Latchkey\Scriptify\Method\Task::prepare(\Latchkey\Scriptify\Method\CallerOptions::parse($argv));

// Included here, in the global scope, because an autoloader may set globals.
if (\Latchkey\Scriptify\Method\Task::bootstrap() !== null) {
    try {
        require_once \Latchkey\Scriptify\Method\Task::bootstrap();
    } catch (\Throwable $_) {
        \Latchkey\Scriptify\Method\Task::bootstrapFailed($_);
    }
}

\Latchkey\Scriptify\Method\Task::run();
