/* The link over a switch's socket, from the installed headers alone; without a switch, which it says. */
#include <cnuasccl_link.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  struct cnuasccl_link_options options;
  cnuasccl_link_options_init(&options, sizeof options);
  options.run_dir = "nowhere";
  struct cnuasccl_link* link = NULL;
  char why[256];
  const cnuasccl_status_t status = cnuasccl_link_open(&options, &link, why, sizeof why);
  printf("%s: %s\n", cnuasccl_status_name(status), why);
  return status == CNUASCCL_LINK_FAILED && link == NULL && strstr(why, "nowhere") != NULL ? 0 : 1;
}
