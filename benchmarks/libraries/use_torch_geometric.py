"""A graph network of torch_geometric's over a batch of two graphs, with pooling."""

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, global_mean_pool


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(4, 8)
        self.second = GATConv(8, 8, heads=2, concat=False)
        self.out = torch.nn.Linear(8, 2)

    def forward(self, data):
        keep = torch.ones(data.num_nodes, 1, device=data.x.device)
        x = self.first(data.x * keep, data.edge_index).relu()
        x = self.second(x, data.edge_index)
        return self.out(global_mean_pool(x, data.batch))


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    edges = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    graphs = [Data(x=torch.randn(4, 4), edge_index=edges, y=torch.tensor([n])) for n in (0, 1)]
    batch = Batch.from_data_list(graphs).to(device)
    net = Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(3):
        weight = torch.tensor([1.0, 3.0], device=device)
        loss = torch.nn.functional.cross_entropy(net(batch), batch.y, weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [torch.stack(losses), net(batch).detach()]
