<?php

// The program that runs a script: run-script.php <setup as JSON> [script]. It evaluates in its own global scope and owns no
// variable there but $_ and $_e.

declare(strict_types=0);

require __DIR__ . '/../../classes/php/error-log.php';
foreach (
    [
        '../../run/php/cli-error', '../../run/php/error-text', '../../run/php/exit-watcher', 'code-stream', 'failure', 'renderer',
        'tokens', 'statements', 'last-expression', 'script',
    ] as $_
) {
    require __DIR__ . "/{$_}.php";
}
unset($_);

\Latchkey\Scriptify\Terminal\Script::prepare($argv);
$argv = $_SERVER['argv'] = [$argv[0]];
$argc = $_SERVER['argc'] = 1;

try {
    foreach (\Latchkey\Scriptify\Terminal\Script::files() as $_) {
        require_once $_;
    }
    unset($_);
    \Latchkey\Scriptify\Terminal\Script::show(include \Latchkey\Scriptify\Terminal\CodeStream::NAME);
} catch (\Throwable $_e) {
    \Latchkey\Scriptify\Terminal\Script::fail($_e);
}
