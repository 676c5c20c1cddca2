<?php

namespace App;

class Needy
{
    public function __construct(private \DateTimeZone $zone)
    {
    }

    public function run(): void
    {
    }

    public static function still(): void
    {
        echo "static\n";
    }
}
