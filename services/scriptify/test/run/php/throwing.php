<?php throw new RuntimeException("no luck");
