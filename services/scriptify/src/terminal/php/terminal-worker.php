<?php

// The program behind `php>`. It evaluates in its own global scope and owns no variable there: the loop below calls
// static methods only, and every name but $_ and $_e belongs to the user.

declare(strict_types=0);

// The process that started this one reports the reason.
if (PHP_VERSION_ID < 80300) {
    exit(255);
}

require __DIR__ . '/../../classes/php/error-log.php';
foreach (
    [
        'code-stream', 'channel', 'backup', 'failure', 'renderer', 'imports', 'tokens', 'statements', 'last-expression', 'completeness',
        'fatal-check', 'snapshot', 'connections', 'completion', 'listing', 'protection', 'terminal-session', 'worker',
    ] as $_
) {
    require __DIR__ . "/{$_}.php";
}
unset($_);

\Latchkey\Scriptify\Terminal\Worker::open();

while (\Latchkey\Scriptify\Terminal\Worker::next()) {
    try {
        \Latchkey\Scriptify\Terminal\Worker::succeed(include \Latchkey\Scriptify\Terminal\CodeStream::NAME);
    } catch (\Throwable $_e) {
        \Latchkey\Scriptify\Terminal\Worker::fail($_e);
    }
}
