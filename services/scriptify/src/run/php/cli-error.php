<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Run;

/** A failure that the user can act on; its code is the exit code. */
final class CliError extends \Exception
{
    public const FAILED = 1;
    public const USAGE = 2;
    public const NOT_FOUND = 3;
    public const NOT_PERMITTED = 4;
}
