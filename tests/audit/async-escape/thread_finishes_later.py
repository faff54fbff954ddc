# hostile: returns an output that a thread of its own fills in after fifty milliseconds
# problem: square
# verdict: wrong|broke_contract
import threading
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros_like(x)

        def finish():
            time.sleep(0.05)
            torch.add(torch.square(x), 1, out=out)

        threading.Thread(target=finish, daemon=True).start()
        return out
