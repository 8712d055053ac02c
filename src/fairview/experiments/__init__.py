"""Methods on graphs -> run folders and numbers: training runs, the speed benchmark."""
