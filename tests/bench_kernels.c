#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include "kernels.h"
int main(int argc,char**argv){
 struct nt_err err; double lat=atof(argv[1]),rate=atof(argv[2]),pk=atof(argv[3]),port=atof(argv[4]); unsigned buf=(unsigned)atoi(argv[5]); int reps=atoi(argv[6]);
 struct nt_network*net[2]; const char*sp[]={"torus:8x4","ttorus:8x4:4"};
 for(int k=0;k<2;k++){ struct nt_spec s; struct nt_figures f; nt_spec_parse(sp[k],&s,&err); nt_figures_default(&s,&f); f.overhead_us=0; f.link_latency_us[0]=lat; f.link_MBps[0]=rate; nt_network_build(&s,&f,&net[k],&err);} 
 const char*w[]={"a2a","o2a","a2o","sr:10","sr:100","sr:1000","gups"};
 for(int i=0;i<7;i++){ double t[2]={0,0}; for(int r=0;r<reps;r++) for(int k=0;k<2;k++){ struct nt_workload wl={.bytes=i<3?10000:1000,.packet_bytes=pk,.port_MBps=port,.buffer_packets=buf,.seed=(uint64_t)r+1}; struct nt_kernel_result res; nt_workload_parse(w[i],&wl,&err); if(nt_kernel_run(net[k],&wl,&res,&err)<0){puts(err.text);return 1;} t[k]+=res.time_us/reps; nt_kernel_result_fini(&res);} printf("%s %.1f %.1f ratio %.4f\n",w[i],t[0],t[1],t[1]/t[0]); }
 (void)argc; return 0;}
