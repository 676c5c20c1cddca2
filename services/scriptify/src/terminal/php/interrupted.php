<?php

declare(strict_types=1);

namespace Latchkey\Scriptify\Terminal;

/** Ctrl-C while something runs. */
final class Interrupted extends \Error
{
}
