<?php

namespace App;

abstract class Shape
{
    public function name(): string
    {
        return 'shape';
    }

    abstract public static function draw(): void;
}
