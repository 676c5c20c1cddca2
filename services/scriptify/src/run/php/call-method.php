<?php

// The program that calls a method: call-method.php <options as JSON> [argument …]

declare(strict_types=1);

require __DIR__ . '/../../classes/php/error-log.php';
foreach (['cli-error', 'error-text', 'closest-name', 'caller-options', 'exit-watcher', 'target', 'docs', 'argument', 'daemon', 'task'] as $_) {
    require __DIR__ . "/{$_}.php";
}
unset($_);

\Latchkey\Scriptify\Run\Task::prepare(\Latchkey\Scriptify\Run\CallerOptions::parse($argv));

// Included here, in the global scope, because an autoloader may set globals.
foreach (\Latchkey\Scriptify\Run\Task::files() as $_e => $_) {
    try {
        require_once $_;
    } catch (\Throwable $_) {
        \Latchkey\Scriptify\Run\Task::failed($_e, $_);
    }
}
unset($_e, $_);

\Latchkey\Scriptify\Run\Task::run();
