do 0;
