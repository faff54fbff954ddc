# honest: four threads share the work and have all ended when it returns
# problem: softmax
# verdict: verified
# label: open
import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        parts = list(zip(x.chunk(4), out.chunk(4)))
        workers = [threading.Thread(target=torch.softmax, args=(a, -1), kwargs={"out": b}) for a, b in parts]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return out
