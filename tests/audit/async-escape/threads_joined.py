# honest: four threads share the work and have all ended when it returns
# problem: softmax
# verdict: verified
# label: open
import threading

import torch
from torch import nn


@torch.no_grad()
def softmax(x, out):
    torch.softmax(x, -1, out=out)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        workers = [threading.Thread(target=softmax, args=part) for part in zip(x.chunk(4), out.chunk(4))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return out
