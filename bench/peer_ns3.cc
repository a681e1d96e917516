/* SPDX-License-Identifier: MIT */
/*
 * ns-3 as a peer: a program of its own, since ns-3 is C++ and its state is global.
 *
 *   peer-ns3 loop EVENTS     64 events that schedule themselves again: ns per event
 *   peer-ns3 flood PACKETS   one-way UDP, 64 bytes on the wire, two nodes: packets/s
 *
 * Prints one number: real time of Simulator::Run() alone.  ns-3 is given what is cheapest
 * there: its own default scheduler (a map) or its heap, whichever is faster, no traffic
 * control, no tracing, no checksums (its default), sockets without an application class.
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

namespace
{

const uint16_t PORT = 7000;
const uint32_t HEADERS = 2 + 20 + 8; /* PPP, IPv4, UDP */
const unsigned SELVES = 64;

uint64_t left; /* events or packets still to come */
uint64_t received;

/* The delays are the ones of bench/sim_evq.c. */
void Again(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    if (--left == 0)
        ns3::Simulator::Stop();
    ns3::Simulator::Schedule(ns3::NanoSeconds(1 + (*state & 1023)), &Again, state);
}

double Run()
{
    auto begin = std::chrono::steady_clock::now();

    ns3::Simulator::Run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double Loop(const char *scheduler, uint64_t events)
{
    static uint64_t state[SELVES];
    ns3::ObjectFactory factory;
    double seconds;

    factory.SetTypeId(scheduler);
    ns3::Simulator::SetScheduler(factory);
    left = events;
    for (unsigned i = 0; i < SELVES; i++) {
        state[i] = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
        ns3::Simulator::Schedule(ns3::NanoSeconds(i), &Again, &state[i]);
    }
    seconds = Run();
    ns3::Simulator::Destroy();
    return seconds / static_cast<double>(events) * 1e9;
}

void Receive(ns3::Ptr<ns3::Socket> socket)
{
    while (socket->Recv())
        received++;
}

void Send(ns3::Ptr<ns3::Socket> socket)
{
    socket->Send(ns3::Create<ns3::Packet>(64 - HEADERS));
    if (--left > 0)
        ns3::Simulator::Schedule(ns3::NanoSeconds(200), &Send, socket);
}

double Flood(uint64_t packets)
{
    ns3::NodeContainer nodes(2);
    ns3::PointToPointHelper link;
    ns3::Ipv4AddressHelper address("10.0.0.0", "255.255.255.0");

    link.SetDeviceAttribute("DataRate", ns3::StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", ns3::StringValue("1us"));
    ns3::NetDeviceContainer devices = link.Install(nodes);
    ns3::InternetStackHelper().Install(nodes);
    ns3::Ipv4InterfaceContainer interfaces = address.Assign(devices);
    ns3::TrafficControlHelper().Uninstall(devices);
    ns3::Ptr<ns3::Socket> sink =
        ns3::Socket::CreateSocket(nodes.Get(1), ns3::UdpSocketFactory::GetTypeId());
    sink->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), PORT));
    sink->SetRecvCallback(ns3::MakeCallback(&Receive));
    ns3::Ptr<ns3::Socket> source =
        ns3::Socket::CreateSocket(nodes.Get(0), ns3::UdpSocketFactory::GetTypeId());
    source->Connect(ns3::InetSocketAddress(interfaces.GetAddress(1), PORT));
    left = packets;
    ns3::Simulator::Schedule(ns3::NanoSeconds(0), &Send, source);
    double seconds = Run();
    if (received != packets) {
        std::fprintf(stderr, "peer-ns3: %llu of %llu packets arrived\n",
                     static_cast<unsigned long long>(received),
                     static_cast<unsigned long long>(packets));
        std::exit(1);
    }
    ns3::Simulator::Destroy();
    return static_cast<double>(packets) / seconds;
}

} // namespace

int main(int argc, char **argv)
{
    uint64_t n = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;

    if (n > 0 && std::strcmp(argv[1], "loop") == 0)
        std::printf("%.6g\n",
                    std::min(Loop("ns3::MapScheduler", n), Loop("ns3::HeapScheduler", n)));
    else if (n > 0 && std::strcmp(argv[1], "flood") == 0)
        std::printf("%.6g\n", Flood(n));
    else
        return 2;
    return 0;
}
