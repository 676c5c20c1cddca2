<?php exit(0);
